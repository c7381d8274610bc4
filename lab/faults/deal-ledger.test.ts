import { expect, test } from 'vitest'
import { alreadyMoved, type ExpectedDeal, hasExactlyTheseMoves, type ListedDeal, wrongDeals } from './deal-ledger.ts'

const deal = (change: Partial<ExpectedDeal> = {}): ExpectedDeal => ({
  name: 'Pumps',
  id: 'del_1',
  stages: ['stg_1', 'stg_2', 'stg_1', 'stg_3'],
  ...change,
})
const listed = (stageId: string): ListedDeal => ({ id: 'del_1', name: 'Pumps', stageId })
const found = (...deals: ListedDeal[]) => new Map([['Pumps', deals]])
const unknownMove = { request: { method: 'POST', path: '/v5/deals/del_1/move', key: 'k' }, stageId: 'stg_4' }
const unknownCreation = { request: { method: 'POST', path: '/v5/deals', key: 'k' }, stageId: 'stg_1' }

test.each([
  ['in the stage of its last move', deal(), [listed('stg_3')], true],
  ['lost', deal(), [], false],
  ['duplicated', deal(), [listed('stg_3'), listed('stg_3')], false],
  ['in an earlier stage', deal(), [listed('stg_2')], false],
  ['perhaps moved, and not moved', deal({ unknownMove }), [listed('stg_3')], true],
  ['perhaps moved, and moved', deal({ unknownMove }), [listed('stg_4')], true],
  ['perhaps moved, and in a third stage', deal({ unknownMove }), [listed('stg_2')], false],
  ['perhaps created, and missing', deal({ stages: [], unknownMove: unknownCreation }), [], true],
  ['perhaps created, and stored', deal({ stages: [], unknownMove: unknownCreation }), [listed('stg_1')], true],
])('a deal that is %s is judged correctly', (_, expected, stored, isRight) => {
  expect(wrongDeals([expected], found(...stored))).toHaveLength(isRight ? 0 : 1)
})

test('a move whose effect is visible must be replayed, not repeated', () => {
  expect([...alreadyMoved([deal({ unknownMove })], found(listed('stg_4')))]).toEqual(['Pumps'])
  expect([...alreadyMoved([deal({ unknownMove })], found(listed('stg_3')))]).toEqual([])
  expect([...alreadyMoved([deal()], found(listed('stg_3')))]).toEqual([])
})

test('a move that is missing from the record of stages, or recorded twice, is reported', () => {
  const moves = [
    { fromStageId: 'stg_1', toStageId: 'stg_3' },
    { fromStageId: 'stg_1', toStageId: 'stg_2' },
    { fromStageId: 'stg_2', toStageId: 'stg_1' },
  ]
  expect(hasExactlyTheseMoves(deal(), moves)).toBe(true)
  expect(hasExactlyTheseMoves(deal(), moves.slice(1))).toBe(false)
  expect(hasExactlyTheseMoves(deal(), [...moves, ...moves.slice(0, 1)])).toBe(false)
  expect(hasExactlyTheseMoves(deal({ stages: ['stg_1'] }), [])).toBe(true)
})
