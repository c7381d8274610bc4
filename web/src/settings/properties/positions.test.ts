import { expect, test } from 'vitest'
import { positionsAfterMove } from './positions.ts'

test('a move stores one position between the neighbors', () => {
  const ordered = ['1', '2', '3'].map((position) => ({ id: position, position }))
  expect(positionsAfterMove(ordered, '3', 1)).toEqual([{ id: '3', position: '1.5' }])
  expect(positionsAfterMove(ordered, '3', 0)).toEqual([{ id: '3', position: '0' }])
  expect(positionsAfterMove(ordered, '1', 2)).toEqual([{ id: '1', position: '4' }])
})

test('if no number fits between the neighbors, all positions are stored', () => {
  const ordered = ['a', 'b', 'c'].map((id) => ({ id, position: '1' }))
  expect(positionsAfterMove(ordered, 'c', 1)).toEqual([
    { id: 'a', position: '1' },
    { id: 'c', position: '2' },
    { id: 'b', position: '3' },
  ])
  let items = ['a', 'b', 'c'].map((id, index) => ({ id, position: String(index) }))
  for (let move = 0; move < 200; move++) {
    const last = items[2]?.id ?? ''
    const changed = positionsAfterMove(items, last, 1)
    items = items
      .map((item) => changed.find(({ id }) => id === item.id) ?? item)
      .toSorted((one, other) => Number(one.position) - Number(other.position))
    expect(items[1]?.id).toBe(last)
  }
})
