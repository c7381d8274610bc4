import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { cleanUp } from '../../bench/cleanup.ts'
import { clock } from '../../faults/clock.ts'
import { cuts } from '../../faults/cuts.ts'
import { disk } from '../../faults/disk.ts'
import { frozen } from '../../faults/frozen.ts'
import { kills } from '../../faults/kills.ts'
import { rolling } from '../../faults/rolling.ts'
import { type Finding, Laws, quantile, randomOf, type Run } from '../../faults/scenario.ts'

// The short form of `npm run faults`: each scenario with as little as shows what it is about. They wait more than they
// work, so they run side by side. Overload is left to the command: what it measures needs the machine for itself.
const root = fileURLToPath(new URL('../..', import.meta.url))
const script = fileURLToPath(new URL('../../scripts/faults.mjs', import.meta.url))
const run = (): Run => {
  const seed = 1 + Math.floor(Math.random() * 999_999)
  return { root, random: randomOf(seed), rest: 100, say: () => undefined }
}
const patience = 180_000
/** Milliseconds within which every request has its answer, on a machine that does many things at once. */
const late = 14_000

const expectKept = ({ broken, figures }: Finding) => {
  expect(broken).toEqual([])
  expect(figures.acknowledged ?? figures.requests).toBeGreaterThan(0)
}

afterAll(cleanUp)

describe.concurrent('nothing acknowledged is lost and nothing happens twice', () => {
  test(
    'when service, database, one of its processes, and both are killed',
    async () => {
      expectKept(await kills(run(), { cycles: 4, patience: 90_000 }))
    },
    patience,
  )

  test(
    'when the database stands still for five seconds; requests are refused in time',
    async () => {
      const finding = await frozen(run(), { seconds: 5, patience: late })
      expectKept(finding)
      expect(finding.figures['reads meanwhile']).toBe(250)
    },
    patience,
  )

  test(
    'when connections to the database are delayed, reset, or swallow what is sent',
    async () => {
      expectKept(await cuts(run(), { rounds: 3, patience: late }))
    },
    patience,
  )

  test(
    'when the disk of the tables is full for a moment; reads go on',
    async ({ skip }) => {
      const finding = await disk(run(), { seconds: 1, together: false })
      if (finding.skipped !== undefined) skip(finding.skipped)
      expectKept(finding)
    },
    patience,
  )

  test(
    'when two processes behind one port are restarted in turn; no request fails',
    async () => {
      expectKept(await rolling(run(), { rounds: 1 }))
    },
    patience,
  )

  test(
    'when the clock of the service is set back and forth',
    async () => {
      expectKept(await clock(run(), { seconds: 1 }))
    },
    patience,
  )
})

test('a law that is broken is told with what was seen', () => {
  const laws = new Laws()
  laws.hold('kept', true, 1)
  laws.none('none', [])
  expect(laws.broken).toEqual([])
  laws.hold('in time', false, 7)
  laws.none('nothing else', ['a', 'b'])
  expect(laws.broken).toEqual(['in time: 7', 'nothing else: {"count":2,"first":["a","b"]}'])
})

test('a seed gives the same choices each time', () => {
  const [one, same, other] = [randomOf(7), randomOf(7), randomOf(8)]
  const drawn = Array.from({ length: 1000 }, () => one())
  expect(drawn).toEqual(drawn.map(() => same()))
  expect(drawn).not.toEqual(drawn.map(() => other()))
  expect(quantile(drawn, 0.5)).toBeGreaterThan(0.4)
  expect(quantile(drawn, 0.5)).toBeLessThan(0.6)
  expect([Math.min(...drawn) >= 0, Math.max(...drawn) < 1]).toEqual([true, true])
})

test('a mistake on the command line starts nothing and shows the help', async () => {
  const refused = promisify(execFile)(process.execPath, [script, '--cycles', 'many'])
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--cycles takes a whole') })
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--help'])
  expect(stdout).toContain('--seed')
  const none = promisify(execFile)(process.execPath, [script, '--only', 'no such'])
  await expect(none).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('No scenario has "no such"') })
})
