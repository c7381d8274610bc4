import { expect, test } from 'vitest'
import {
  type Acceptance,
  type ListedSuggestion,
  wronglyAccepted,
  wronglyAnalysed,
  wrongTasks,
} from './suggestion-ledger.ts'

const suggestion = (change: Partial<ListedSuggestion> = {}): ListedSuggestion => ({
  id: 'sug_1',
  noteId: 'not_1',
  contactId: 'con_1',
  type: 'call',
  status: 'accepted',
  importId: 'imp_1',
  waitingReason: null,
  resultTaskId: 'tsk_1',
  ...change,
})
const analysis = { id: 'ana_1', noteId: 'not_1', degradedReason: null }
const acceptance = (isAcknowledged = true): Acceptance => ({
  suggestionId: 'sug_1',
  request: { method: 'POST', path: '/v5/suggestions/sug_1/accept', key: 'k' },
  isAcknowledged,
})

test.each([
  ['analysed once', [analysis], [suggestion()], true],
  ['not analysed', [], [suggestion()], false],
  ['analysed twice', [analysis, { ...analysis, id: 'ana_2' }], [suggestion()], false],
  ['without a suggestion', [analysis], [], false],
  ['with two suggestions', [analysis], [suggestion(), suggestion({ id: 'sug_2' })], false],
  ['given up', [{ ...analysis, degradedReason: 'failed' }], [], true],
])('a note that is %s is judged correctly', (_, analyses, suggestions, isRight) => {
  expect(wronglyAnalysed(['not_1'], analyses, suggestions)).toEqual(isRight ? [] : ['not_1'])
})

test.each([
  ['accepted once', [acceptance()], 'accepted', true],
  ['accepted once, and by a request without effect', [acceptance(), acceptance(false)], 'accepted', true],
  ['accepted twice', [acceptance(), acceptance()], 'accepted', false],
  ['accepted by nobody', [], 'accepted', false],
  ['still open, although it was accepted', [acceptance()], 'pending', false],
])('a suggestion that is %s is judged correctly', (_, acceptances, status, isRight) => {
  expect(wronglyAccepted(acceptances, [suggestion({ status })])).toHaveLength(isRight ? 0 : 1)
})

test('a missing, shared or additional task is reported', () => {
  const other = suggestion({ id: 'sug_2', resultTaskId: 'tsk_2' })
  expect(wrongTasks([suggestion(), other], ['tsk_1', 'tsk_2'])).toEqual([])
  expect(wrongTasks([suggestion(), other], ['tsk_1'])).toEqual(['sug_2'])
  expect(wrongTasks([suggestion(), { ...other, resultTaskId: 'tsk_1' }], ['tsk_1'])).toEqual(['sug_2'])
  expect(wrongTasks([suggestion()], ['tsk_1', 'tsk_2'])).toEqual(['tsk_2'])
})
