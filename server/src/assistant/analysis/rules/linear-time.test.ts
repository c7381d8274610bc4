import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { maxTextLength } from '../analysis.ts'
import { factsFor } from '../evaluation/labels.ts'
import { verify } from '../verify.ts'
import { interpret } from './rules.ts'

const facts = factsFor('Europe/Berlin')

/** Milliseconds of the processor to read a note. */
const timeOf = (text: string): number =>
  processorTime(() => void verify(interpret(text, facts).interpretation, { organizationId: '', text }, facts), 5)

/** Each of these took the square of its length, or more, or is the most that a note of this length can contain. */
const notes: readonly [string, (length: number) => string][] = [
  ['German dates', repeated('Passt es am 7. Dezember um 15 Uhr oder am Dienstag nach Ostern um halb vier? ')],
  ['lists of days', repeated('nicht am Montag und Dienstag und Mittwoch und Donnerstag und Freitag und ')],
  ['days with times', repeated('Montag 9 Uhr und Dienstag 10 Uhr und ')],
  ['lines', repeated('Call me on Monday at 3pm, please\n')],
  ['names', repeated('Ada Lee ')],
  ['tabs', repeated('Montag\t9\tUhr\t')],
  ['points', (length) => `${'.'.repeat(length - 1)}x`],
  ['spaces', (length) => `fwd${' '.repeat(length - 4)}x`],
  ['addresses', repeated('a@')],
  ['numbers', repeated('1,')],
  ['articles', repeated('an ')],
  ['one long word', (length) => `set the intent ${'a'.repeat(length - 15)}`],
  ['long words', repeated(`the intent ${'a'.repeat(80)} `)],
]

function repeated(part: string): (length: number) => string {
  return (length) => part.repeat(Math.ceil(length / part.length)).slice(0, length)
}

test.each(notes)('the time for a note is linear in its length: %s', (_name, noteOf) => {
  const [short, long] = [timeOf(noteOf(maxTextLength / 4)), timeOf(noteOf(maxTextLength))]
  // Doubled twice, it would take sixteen times as long if the time grew with the square. A few milliseconds are noise.
  expect(long).toBeLessThan(Math.max(8 * short, 15))
})

test('what is behind the first 8,192 characters of a note takes no time', () => {
  const note = 'Passt es am 7. Dezember um 15 Uhr? '.repeat(1000)
  const read = () =>
    verify(interpret(note.slice(0, maxTextLength), facts).interpretation, { organizationId: '', text: note }, facts)
  expect(read()).toEqual(verify(read(), { organizationId: '', text: note.slice(0, maxTextLength) }, facts))
})
