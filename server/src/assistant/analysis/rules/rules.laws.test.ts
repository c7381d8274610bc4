import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { runsOf, seed } from '../../../../test/seed.ts'
import { maxTextLength, type Interpretation, type NoteFacts } from '../analysis.ts'
import { factsFor, readInjections, readNotes } from '../evaluation/labels.ts'
import { verify } from '../verify.ts'
import { interpret } from './rules.ts'

const notes = await readNotes('.')
const injections = await readInjections('.')
const zones = ['Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu', 'UTC', 'No/Such_Zone']

const part = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...notes.map(({ text }) => text)) },
  { weight: 1, arbitrary: fc.constantFrom(...injections.map(({ text }) => text)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
)
/** Notes put together from parts of others. */
const anyText = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(' ').slice(0, maxTextLength))
const anyFacts: fc.Arbitrary<NoteFacts> = fc
  .record({
    now: fc.date({ min: new Date('2000-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
    zone: fc.constantFrom(...zones),
  })
  .map(({ now, zone }) => ({ ...factsFor(zone), now }))

const read = (text: string, facts: NoteFacts): Interpretation => interpret(text, facts).interpretation

test('the rules never throw, are deterministic, and everything that they suggest passes the checks', () => {
  fc.assert(
    fc.property(anyText, anyFacts, (text, facts) => {
      const found = read(text, facts)
      expect(read(text, facts)).toEqual(found)
      expect(verify(found, { organizationId: '', text }, facts)).toEqual(found)
      for (const { evidence } of found.actions) {
        expect(text.slice(evidence.start, evidence.end)).toHaveLength(evidence.end - evidence.start)
        expect(evidence.end - evidence.start).toBeGreaterThan(0)
      }
    }),
    { seed, numRuns: runsOf(150) },
  )
})

test('a note with an injection anywhere has no actions, except a person who opts out', () => {
  const isForged = fc.constantFrom(...injections.filter(({ actions }) => actions.length === 0).map(({ text }) => text))
  fc.assert(
    fc.property(fc.constantFrom(...notes), isForged, ({ text, intent }, injection) => {
      for (const joined of [`${text}\n${injection}`, `${injection}\n${text}`]) {
        const types = read(joined, factsFor('Europe/Berlin')).actions.map(({ type }) => type)
        expect(intent === 'opt_out' ? types.filter((type) => type !== 'suppress') : types).toEqual([])
      }
    }),
    { seed, numRuns: runsOf(150) },
  )
})

test('letter case and the width of spaces do not change what a note means', () => {
  const meaningOf = (text: string) => {
    const { intent, language, suspicious } = read(text, factsFor('Europe/Berlin'))
    return { intent, language, suspicious }
  }
  // "ß" has no upper case of the same length, and some signs of injections are in upper case.
  const plain = notes.filter(({ text }) => !/[ß"']|\d/.test(text))
  fc.assert(
    fc.property(fc.constantFrom(...plain), fc.constantFrom(' ', '  ', '\t', '\u00a0'), ({ text }, space) => {
      const spaced = text.replaceAll(' ', space)
      expect([text, meaningOf(spaced)]).toEqual([text, meaningOf(text)])
      expect([text, meaningOf(text.toUpperCase())]).toEqual([text, meaningOf(text)])
      expect([text, meaningOf(text.toLowerCase())]).toEqual([text, meaningOf(text)])
    }),
    { seed, numRuns: runsOf(150) },
  )
})

test('each note means the same, with the same words as evidence, however its spaces and line ends are written', () => {
  const facts = factsFor('Europe/Berlin')
  const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ')
  const readingOf = (text: string) => {
    const { actions, ...meaning } = verify(read(text, facts), { organizationId: '', text }, facts)
    const words = ({ evidence: { start, end }, ...action }: (typeof actions)[number]) => ({
      ...action,
      evidence: squeezed(text.slice(start, end)),
    })
    return { ...meaning, actions: actions.map(words) }
  }
  for (const { text } of [...notes, ...injections]) {
    const single = text.replaceAll(/[^\S\n]*\n[^\S\n]*/g, '\n').replaceAll(/[^\S\n]+/g, ' ')
    const expected = { text, reading: readingOf(single) }
    const ways = [single.replaceAll(' ', '  '), single.replaceAll(' ', '\u00a0\t '), single.replaceAll('\n', ' \r\n\t')]
    for (const way of [text, ...ways]) expect({ text, reading: readingOf(way) }).toEqual(expected)
  }
})

test('a note takes milliseconds, also one that is written to be slow', () => {
  const facts = factsFor('Europe/Berlin')
  const slowest = [
    ...['a', 'a.', 'not ', 'no ', '(((', '@', 'a@', '1', '1 ', '+4', 'ignore ', '. ', '\n', 'im ', 'can we ', 'Aa '],
    ...['on 1 ', 'call me ', 'nicht mehr ', '%41', 'A1a', '<', '-', '"', 'Dr. ', 'the '],
  ].map((unit) => unit.repeat(Math.ceil(maxTextLength / unit.length)).slice(0, maxTextLength))
  const timeOf = (text: string) => processorTime(() => void interpret(text, facts))
  // Usual long texts take a tenth of it, a quadratic expression far longer.
  for (const text of slowest) expect([text.slice(0, 20), timeOf(text) < 150]).toEqual([text.slice(0, 20), true])
  const times = notes.map(({ text }) => timeOf(text)).sort((one, other) => one - other)
  expect(times[Math.floor(times.length / 2)]).toBeLessThan(5)
})
