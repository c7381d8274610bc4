import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergeLists } from './merge-lists.ts'

test('the merged list has what either person added, and lacks what either removed', () => {
  for (const [before, mine, theirs, merged] of [
    [['a'], ['a', 'c'], ['a', 'b'], ['a', 'b', 'c']],
    [['a', 'b'], ['b'], ['a', 'b', 'c'], ['b', 'c']],
    [['a', 'b'], ['a', 'b', 'c'], ['a'], ['a', 'c']],
    [['a,b', 'x'], ['a,b', 'x', 'c'], ['a,b'], ['a,b', 'c']],
    [null, ['a'], ['b'], ['b', 'a']],
    [['a'], [], ['a', 'b'], ['b']],
    [['a'], null, ['a', 'b'], ['b']],
    [[1, '1'], [1, '1', 2], ['1'], ['1', 2]],
  ])
    expect(mergeLists(before, mine, theirs)).toEqual(merged)
})

test('choices are merged by their values, and a choice that both changed is a conflict', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((value) => ({ value, label: value }))
  const renamed = { value: 'a', label: 'Other' }
  expect(mergeLists([a], [renamed, b], [a, c])).toEqual([renamed, c, b])
  expect(mergeLists([a], [a, b], [renamed])).toEqual([renamed, b])
  expect(mergeLists([a], [renamed], [{ value: 'a', label: 'Another' }])).toBeUndefined()
  expect(mergeLists([a, b], [b], [renamed, b])).toBeUndefined()
  expect(mergeLists([a, b], [renamed, b], [b])).toBeUndefined()
})

test('addresses are merged unless two people have chosen different primary ones', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((address) => ({ address, primary: false }))
  const [firstA, firstB, firstC] = [a, b, c].map((entry) => ({ ...entry, primary: true }))
  expect(mergeLists([firstA, b], [firstA, b, c], [a, firstB])).toEqual([a, firstB, c])
  expect(mergeLists([firstA, b, c], [a, firstB, c], [a, b, firstC])).toBeUndefined()
  expect(mergeLists([], [firstA], [firstB])).toBeUndefined()
})

test('returned mails do not conflict with a change of the same address', () => {
  const [a, b] = ['a', 'b'].map((address) => ({ address, kind: null, primary: address === 'a', bouncedAt: null }))
  const returned = { ...a, bouncedAt: '2026-11-28T00:00:00.000Z' }
  const ofWork = { ...a, kind: 'work' }
  expect(mergeLists([a], [ofWork], [returned])).toEqual([{ ...returned, kind: 'work' }])
  expect(mergeLists([returned], [{ ...returned, kind: 'work' }], [a])).toEqual([ofWork])
  expect(mergeLists([a], [a, b], [returned])).toEqual([returned, b])
  expect(mergeLists([a, b], [{ ...b, primary: true }], [returned, b])).toEqual([{ ...b, primary: true }])
  expect(mergeLists([a], [ofWork], [{ ...returned, kind: 'personal' }])).toBeUndefined()
})

test('values of other types are not merged', () => {
  expect(mergeLists('a', 'b', 'c')).toBeUndefined()
  expect(mergeLists(['a'], 'a', ['a', 'b'])).toBeUndefined()
})

const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'))

test('the order of the two changes does not affect the items of the list', () =>
  fc.assert(
    fc.property(tags, tags, tags, (before, mine, theirs) => {
      const merged = new Set(mergeLists(before, mine, theirs))
      expect(merged).toEqual(new Set(mergeLists(before, theirs, mine)))
      for (const tag of [...before, ...mine, ...theirs]) {
        const isRemoved = before.includes(tag) && !(mine.includes(tag) && theirs.includes(tag))
        expect(merged.has(tag)).toBe(!isRemoved)
      }
    }),
  ))
