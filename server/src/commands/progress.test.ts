import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answer, tell } from './command.ts'
import { tellProgress } from './progress.ts'

/** What both streams of a terminal show, in order. */
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

test('on a terminal the result stands on a line after the bar, which shows the end', () => {
  const progress = tellProgress('Loading', 4, 'contacts')
  progress.at(1)
  progress.at(4)
  answer('Demo is ready.')
  answer('Try it.')
  const [bars, ...lines] = shown.split('\n')
  expect(bars).toMatch(/Loading █+ 100 % \(4 of 4 contacts[^\n]*\)$/)
  expect(lines).toEqual(['Demo is ready.', 'Try it.', ''])
})

test('so does what is said meanwhile, such as why it failed', () => {
  tellProgress('Loading', 4, 'contacts').at(1)
  tell('Interrupted: no demo was made.')
  expect(shown).toMatch(/contacts[^\n]*\)\nInterrupted: no demo was made\.\n$/)
})

test('the last word of a progress stands in place of its bar', () => {
  const progress = tellProgress('Backing up', 4, 'rows')
  progress.at(1)
  progress.end('4 rows are in the file.')
  expect(shown.endsWith('\r\u001b[2K4 rows are in the file.\n')).toBe(true)
  answer('done')
  expect(shown.endsWith('file.\ndone\n')).toBe(true)
})
