import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseConfig } from '../config.ts'
import { connectionsOf, shareOf } from './open.ts'

const configOf = (processes: number, connections: number, workers: number) =>
  parseConfig({
    PROCESSES: String(processes),
    DATABASE_CONNECTIONS: String(connections),
    IMPORT_WORKERS: String(workers),
  })

test('one process gets all connections, and several processes share them', () => {
  const one = configOf(1, 16, 2)
  expect(shareOf(one, 0)).toEqual(one)
  expect(connectionsOf(one)).toBe(16 + 5 + 2 * 2 + 4 + 3)
  expect(connectionsOf(configOf(2, 16, 2))).toBe(16 + 2 * 5 + 2 * 2 + 4 + 2 * 3)
  expect([0, 1, 2].map((index) => shareOf(configOf(3, 16, 2), index).databaseConnections)).toEqual([6, 5, 5])
})

test('shares add up to the configured import workers and leave one connection more than unindexed queries use', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: 3, max: 500 }),
      fc.integer({ min: 0, max: 16 }),
      (processes, connections, workers) => {
        const config = configOf(processes, connections, workers)
        const shares = Array.from({ length: processes }, (_, index) => shareOf(config, index))
        const sum = (of: (share: typeof config) => number) => shares.reduce((total, share) => total + of(share), 0)
        expect(sum(({ importWorkers }) => importWorkers)).toBe(workers)
        const min = config.costlyQueries + 1
        for (const share of shares) expect(share.databaseConnections).toBeGreaterThanOrEqual(min)
        if (connections >= processes * min) expect(sum((share) => share.databaseConnections)).toBe(connections)
      },
    ),
  )
})
