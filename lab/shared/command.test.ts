import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { atEnd } from './cleanup.ts'
import { flag, positive, runCommand, text, UsageError, valuesOf, whole } from './command.ts'

const said: unknown[] = []
beforeEach(() => {
  said.length = 0
  for (const name of ['log', 'error'] as const)
    vi.spyOn(console, name).mockImplementation((what) => void said.push(what))
})
afterEach(() => void vi.restoreAllMocks())

const command = (run: () => Promise<number>) => ({
  help: 'the help',
  readOptions: (words: readonly string[]) => (valuesOf(words, { fast: flag }).help ? undefined : words),
  run,
})

test('a command is told its exit code; what it left is undone in every case, the last first', async () => {
  const undone: string[] = []
  const leaving = (end: () => Promise<number>) =>
    command(() => {
      for (const name of ['first', 'second']) atEnd(async () => void undone.push(name))
      return end()
    })
  expect(
    await runCommand(
      ['--fast'],
      leaving(async () => 7),
    ),
  ).toBe(7)
  expect(undone.splice(0)).toEqual(['second', 'first'])
  const failure = new Error('no')
  expect(
    await runCommand(
      [],
      leaving(() => Promise.reject(failure)),
    ),
  ).toBe(1)
  expect(undone.splice(0)).toEqual(['second', 'first'])
  expect(said).toEqual([failure])
})

test('help is shown without running anything, and after a mistake', async () => {
  const run = vi.fn(async () => Promise.reject<number>(new UsageError('Nothing is called so.')))
  expect(await runCommand(['-h'], command(run))).toBe(0)
  expect(await runCommand(['--slow'], command(run))).toBe(2)
  expect(run).not.toHaveBeenCalled()
  expect(await runCommand([], command(run))).toBe(2)
  expect(said).toEqual([
    'the help',
    expect.stringMatching(/--slow[^]*\n\nthe help$/),
    'Nothing is called so.\n\nthe help',
  ])
})

test('numbers are read with separators; what is none, or too little, is a mistake', () => {
  expect([
    whole('n', '1_000_000', 1),
    whole('n', '100,000', 1),
    whole('n', undefined, 5),
    whole('n', '0', 5, 0),
  ]).toEqual([1_000_000, 100_000, 5, 0])
  expect([positive('n', '0.5', 1), positive('n', undefined, 3)]).toEqual([0.5, 3])
  for (const given of ['', ' ', 'many', '-1', '0', '1.5', '1,5', 'Infinity', '1e400']) {
    expect(() => whole('n', given, 1)).toThrow('--n takes a whole number from 1 on.')
  }
  for (const given of ['', 'many', '0', '-0.5', 'Infinity']) expect(() => positive('n', given, 1)).toThrow(UsageError)
  expect(valuesOf(['--word', 'a'], { word: text }).word).toBe('a')
})
