import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { addCleanup } from './cleanup.ts'
import { flag, positiveNumber, runCommand, text, UsageError, parseValues, wholeNumber } from './command.ts'

const printed: unknown[] = []
beforeEach(() => {
  printed.length = 0
  for (const name of ['log', 'error'] as const)
    vi.spyOn(console, name).mockImplementation((message) => void printed.push(message))
})
afterEach(() => void vi.restoreAllMocks())

const command = (run: () => Promise<number>) => ({
  help: 'the help',
  readOptions: (args: readonly string[]) => (parseValues(args, { fast: flag }).help ? undefined : args),
  run,
})

test('a command resolves to its exit code, and its cleanups run in reverse order even if it fails', async () => {
  const cleanedUp: string[] = []
  const commandWithCleanups = (finish: () => Promise<number>) =>
    command(() => {
      for (const name of ['first', 'second']) addCleanup(async () => void cleanedUp.push(name))
      return finish()
    })
  expect(
    await runCommand(
      ['--fast'],
      commandWithCleanups(async () => 7),
    ),
  ).toBe(7)
  expect(cleanedUp.splice(0)).toEqual(['second', 'first'])
  const failure = new Error('no')
  expect(
    await runCommand(
      [],
      commandWithCleanups(() => Promise.reject(failure)),
    ),
  ).toBe(1)
  expect(cleanedUp.splice(0)).toEqual(['second', 'first'])
  expect(printed).toEqual([failure])
})

test('--help prints the help without running the command, and a usage error prints it after the message', async () => {
  const run = vi.fn(async () => Promise.reject<number>(new UsageError('Nothing has this name.')))
  expect(await runCommand(['-h'], command(run))).toBe(0)
  expect(await runCommand(['--slow'], command(run))).toBe(2)
  expect(run).not.toHaveBeenCalled()
  expect(await runCommand([], command(run))).toBe(2)
  expect(printed).toEqual([
    'the help',
    expect.stringMatching(/--slow[^]*\n\nthe help$/),
    'Nothing has this name.\n\nthe help',
  ])
})

test('numbers may have separators; an invalid or too small number is a usage error', () => {
  expect([
    wholeNumber('n', '1_000_000', 1),
    wholeNumber('n', '100,000', 1),
    wholeNumber('n', undefined, 5),
    wholeNumber('n', '0', 5, 0),
  ]).toEqual([1_000_000, 100_000, 5, 0])
  expect([positiveNumber('n', '0.5', 1), positiveNumber('n', undefined, 3)]).toEqual([0.5, 3])
  for (const input of ['', ' ', 'many', '-1', '0', '1.5', '1,5', 'Infinity', '1e400']) {
    expect(() => wholeNumber('n', input, 1)).toThrow('--n takes a whole number of at least 1.')
  }
  for (const input of ['', 'many', '0', '-0.5', 'Infinity'])
    expect(() => positiveNumber('n', input, 1)).toThrow(UsageError)
  expect(parseValues(['--word', 'a'], { word: text }).word).toBe('a')
})
