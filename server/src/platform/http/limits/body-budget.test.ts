import { expect, test } from 'vitest'
import { BodyBudget } from './body-budget.ts'

const never = () => {
  throw new Error('these bytes must not be evicted')
}

test('bodies are accepted up to the limit, and released bytes can be reserved again', () => {
  const budget = new BodyBudget(100)
  const first = budget.open('a', never)
  first.reserve(60)
  first.reserve(40)
  expect(budget.usedBytes).toBe(100)
  const second = budget.open('a', never)
  expect(() => second.reserve(1)).toThrow('Too many request bodies')
  first.release()
  first.release()
  expect(budget.usedBytes).toBe(0)
  second.reserve(100)
  expect(budget.usedBytes).toBe(100)
})

test('when the budget is used up, the largest caller loses its latest incomplete body, and small callers are served', () => {
  const budget = new BodyBudget(100)
  const refused: string[] = []
  const open = (caller: string, name: string, bytes: number) => {
    const body = budget.open(caller, (error: Error) => void refused.push(`${name}: ${error.message}`))
    body.reserve(bytes)
    return body
  }
  const finished = open('hoarder', 'first', 30)
  finished.finish()
  open('hoarder', 'second', 20)
  open('hoarder', 'third', 20)
  open('other', 'fourth', 30)
  open('small', 'fifth', 10)
  expect(refused).toEqual([expect.stringMatching(/^third: overloaded/)])
  open('small', 'sixth', 20)
  expect(refused.map((text) => text.split(':')[0])).toEqual(['third', 'second'])
  expect(budget.usedBytes).toBe(90)
  // Now no other caller uses more than this one, or only complete bodies.
  expect(() => open('other', 'seventh', 40)).toThrow('Too many request bodies')
  expect(refused).toHaveLength(2)
})

test('an evicted body can reserve nothing more and releases nothing twice', () => {
  const budget = new BodyBudget(10)
  const large = budget.open('a', () => undefined)
  large.reserve(10)
  const small = budget.open('b', never)
  small.reserve(4)
  expect(budget.usedBytes).toBe(4)
  expect(() => large.reserve(1)).toThrow('Too many request bodies')
  large.release()
  small.release()
  expect(budget.usedBytes).toBe(0)
})
