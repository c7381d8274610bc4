import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FairStarts } from './fair-starts.ts'

test('a few tasks start immediately, and the rest a few at a time', async () => {
  const starts = new FairStarts()
  let started = 0
  for (let count = 0; count < 40; count++) starts.add('a', () => started++)
  const counts = [started]
  while (started < 40) {
    await setImmediate()
    counts.push(started)
  }
  expect(counts[0]).toBeGreaterThan(0)
  expect(counts.every((count, index) => count - (counts[index - 1] ?? 0) <= 2)).toBe(true)
  starts.add('b', () => started++)
  await setImmediate()
  expect(started).toBe(41)
})

test('however many tasks one tenant has, those of the others start next, each tenant’s in order', async () => {
  const starts = new FairStarts()
  const started: string[] = []
  const add = (name: string) => starts.add(name.charAt(0), () => started.push(name))
  for (let count = 0; count < 100; count++) add(`a${count}`)
  const before = started.length
  for (const name of ['b0', 'b1', 'c0']) add(name)
  while (started.length < before + 6) await setImmediate()
  expect(started.slice(before, before + 6)).toEqual([
    `a${before}`,
    'b0',
    'c0',
    `a${before + 1}`,
    'b1',
    `a${before + 2}`,
  ])
})

test('longestWait is that of the tenant, if many of its tasks wait', async () => {
  const starts = new FairStarts()
  for (let count = 0; count < 100; count++) starts.add('a', () => undefined)
  for (let count = 0; count < 20; count++) starts.add('b', () => undefined)
  for (const end = performance.now() + 5; performance.now() < end;);
  expect(starts.longestWait('a')).toBeGreaterThanOrEqual(5)
  expect(starts.longestWait('b')).toBe(0)
  for (let count = 0; count < 100; count++) await setImmediate()
  expect(starts.longestWait('a')).toBe(0)
})
