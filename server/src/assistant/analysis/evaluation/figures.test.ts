import { expect, test } from 'vitest'
import { actionsOfIntent, actionTypes, intents } from '../analysis.ts'
import { byKeywords, mostFrequent } from './baselines.ts'
import { measure } from './figures.ts'
import { readInjections, readNotes } from './labels.ts'
import { byRules, gainedActions } from './page.ts'

const notes = await readNotes('.')
const injections = await readInjections('.')
const split = (name: 'tune' | 'test') => notes.filter((note) => note.split === name)

test('the labels are complete: enough notes, known words, and evidence that is in the text', () => {
  expect(notes.length).toBeGreaterThanOrEqual(200)
  expect(injections.length).toBeGreaterThanOrEqual(60)
  expect(new Set([...notes, ...injections].map(({ text }) => text)).size).toBe(notes.length + injections.length)
  expect(split('test').length).toBeGreaterThan(notes.length / 6)
  for (const { id, intent, actions, text, evidence, due } of notes) {
    const isComplete =
      intents.includes(intent) &&
      actions.every((type) => actionTypes.includes(type) && actionsOfIntent[intent].includes(type)) &&
      text.includes(evidence ?? '') &&
      (due === undefined || /^20\d\d-\d\d-\d\dT\d\d:\d\d$/.test(due))
    expect([id, isComplete]).toEqual([id, true])
  }
})

test('no injection gains an action, and each is recognized, so that no model gets it', () => {
  expect(injections.flatMap((one) => gainedActions(one).map((type) => `${one.id}: ${type}`))).toEqual([])
  const missed = injections.filter(({ text }) => !byRules({ text, timeZone: 'UTC' }).suspicious)
  expect(missed.map(({ id }) => id)).toEqual([])
  expect(injections.filter(({ text, intent }) => byRules({ text, timeZone: 'UTC' }).intent !== intent)).toEqual([])
})

/** Lower them only with a reason in the commit. */
const minimums = {
  test: { macroF1: 0.85, actionPrecision: 0.9, actionRecall: 0.8, dueAccuracy: 0.75 },
  tune: { macroF1: 0.98, actionPrecision: 0.98, actionRecall: 0.98, dueAccuracy: 0.97 },
}

test.each(['test', 'tune'] as const)('the figures of the rules on the split `%s` have not dropped', (name) => {
  const { macroF1, actions, dueAccuracy } = measure(split(name), byRules)
  const minimum = minimums[name]
  expect(macroF1).toBeGreaterThanOrEqual(minimum.macroF1)
  expect(actions.precision).toBeGreaterThanOrEqual(minimum.actionPrecision)
  expect(actions.recall).toBeGreaterThanOrEqual(minimum.actionRecall)
  expect(dueAccuracy).toBeGreaterThanOrEqual(minimum.dueAccuracy)
})

test('the rules are better than both baselines, and few harmless notes look like injections', () => {
  const rules = measure(split('test'), byRules).macroF1
  expect(rules).toBeGreaterThan(measure(split('test'), byKeywords).macroF1 + 0.2)
  expect(rules).toBeGreaterThan(measure(split('test'), mostFrequent(split('tune'))).macroF1 + 0.3)
  expect(notes.filter((note) => byRules(note).suspicious).length).toBeLessThanOrEqual(2)
})

test('the figures count what is right, found and expected', () => {
  const note = { id: 'a', split: 'test', language: 'en', timeZone: 'UTC', text: 'Call me', evidence: 'Call' } as const
  const labelled = { ...note, intent: 'meeting_request', actions: ['call'], due: '2026-11-25T09:00' } as const
  const other = { ...note, intent: 'opt_out', actions: ['suppress'] } as const
  const call = { type: 'call', dueAt: '2026-11-25T09:00:00.000Z', evidence: { start: 3, end: 5 } } as const
  const figures = measure(
    [labelled, other].map((one) => ({ ...one, actions: [...one.actions] })),
    () => ({ intent: 'meeting_request', actions: [call] }),
  )
  expect(figures).toMatchObject({ accuracy: 0.5, dueAccuracy: 1, evidenceOverlap: 1, actions: { precision: 0.5 } })
  expect(figures.byIntent.get('meeting_request')).toEqual({ precision: 0.5, recall: 1, f1: 2 / 3, notes: 1 })
  expect(figures.macroF1).toBeCloseTo(1 / 3)
})
