import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { printResult, printMessage } from './command.ts'
import { startProgress } from './progress.ts'

/** Output of both streams on a terminal, in order. */
let shown = ''
const isTerminal = process.stderr.isTTY

beforeEach(() => {
  shown = ''
  process.stderr.isTTY = true
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      shown += String(text)
      return true
    })
})
afterEach(() => {
  process.stderr.isTTY = isTerminal
  vi.restoreAllMocks()
})

test('on a terminal, the result follows on the line after the completed bar', () => {
  const progress = startProgress('Loading', 4, 'contacts')
  progress.update(1)
  progress.update(4)
  printResult('Demo is ready.')
  printResult('Try it.')
  const [bars, ...lines] = shown.split('\n')
  expect(bars).toMatch(/Loading █+ 100 % \(4 of 4 contacts[^\n]*\)$/)
  expect(lines).toEqual(['Demo is ready.', 'Try it.', ''])
})

test('on a terminal, messages such as errors follow on the line after the bar', () => {
  startProgress('Loading', 4, 'contacts').update(1)
  printMessage('Interrupted: no demo was made.')
  expect(shown).toMatch(/contacts[^\n]*\)\nInterrupted: no demo was made\.\n$/)
})

test('the final message replaces the bar', () => {
  const progress = startProgress('Backing up', 4, 'rows')
  progress.update(1)
  progress.end('4 rows are in the file.')
  expect(shown.endsWith('\r\u001b[2K4 rows are in the file.\n')).toBe(true)
  printResult('done')
  expect(shown.endsWith('file.\ndone\n')).toBe(true)
})
