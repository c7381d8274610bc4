import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { cleanUp } from '../shared/cleanup.ts'
import { clock } from './clock.ts'
import { cuts } from './cuts.ts'
import { disk } from './disk.ts'
import { frozen } from './frozen.ts'
import { kills } from './kills.ts'
import { operator } from './operator.ts'
import { rolling } from './rolling.ts'
import { createRandom, Guarantees, type Run, type ScenarioResult } from './scenario.ts'
import { quantile } from '../shared/quantile.ts'
import { createTemplate, type Template } from './template.ts'
import { seed } from '../../server/test/seed.ts'

// The short form of `npm run faults`: each scenario at its minimum size. Scenarios mostly wait, so some run
// concurrently, the longest first, on copies of one database. Overload is omitted, because its measurements need an
// idle machine.
const root = fileURLToPath(new URL('../..', import.meta.url))
const script = fileURLToPath(new URL('../../scripts/faults.mjs', import.meta.url))
const timeout = 180_000
/** Milliseconds within which every request must be answered on a busy machine. */
const responseDeadline = 14_000

vi.setConfig({ maxConcurrency: 3, testTimeout: timeout })

let template: Template
beforeAll(async () => {
  template = await createTemplate(root)
}, timeout)
afterAll(cleanUp)

const run = (): Run => ({
  root,
  random: createRandom(seed),
  maxPause: 300,
  pauseAfterFailure: 300,
  template,
  log: () => undefined,
})

const expectNoViolations = ({ broken, figures }: ScenarioResult) => {
  expect(broken).toEqual([])
  expect(figures.acknowledged ?? figures.requests).toBeGreaterThan(0)
}

/** Also checks that some responses were lost, so that requests were repeated. */
const expectRetriesSettled = (result: ScenarioResult) => {
  expectNoViolations(result)
  expect(result.figures['unknown changes retried']).toBeGreaterThan(0)
}

const expectDiskFull = (result: ScenarioResult, skip: (why: string) => void) => {
  if (result.skipped !== undefined) skip(result.skipped)
  expectRetriesSettled(result)
}

// The seed is in the name, so that every failure shows it.
describe.concurrent(`no acknowledged write is lost and none is applied twice (TEST_SEED=${seed})`, () => {
  test('when the service, the database, one of its processes, or both are killed', async () => {
    expectRetriesSettled(await kills(run(), { cycles: 4, recoveryLimit: 90_000 }))
  })

  test('when two processes behind one port are restarted one after the other; no request fails', async () => {
    expectNoViolations(await rolling(run(), { rounds: 1 }))
  })

  test('when connections to the database are delayed, reset, or lose data', async () => {
    expectRetriesSettled(await cuts(run(), { rounds: 3, responseLimit: responseDeadline }))
  })

  test('when the database freezes for five seconds; requests are rejected in time', async () => {
    const result = await frozen(run(), { seconds: 5, responseLimit: responseDeadline })
    expectRetriesSettled(result)
    expect(result.figures['reads in the meantime']).toBe(250)
  })

  test('when the disk of the tables is full for a moment; reads still succeed', async ({ skip }) => {
    expectDiskFull(await disk(run(), { seconds: 1, includeWal: false }), skip)
  })

  test('when the disk of the tables and the write-ahead log is full for a moment', async ({ skip }) => {
    expectDiskFull(await disk(run(), { seconds: 1, includeWal: true }), skip)
  })

  test('when the clock of the service is set back and forward', async () => {
    expectNoViolations(await clock(run(), { seconds: 1 }))
  })
})

test('a broken guarantee is reported with the observed values', () => {
  const guarantees = new Guarantees()
  guarantees.check('met', true, 1)
  guarantees.checkNone('none', [])
  expect(guarantees.broken).toEqual([])
  guarantees.check('in time', false, 7)
  guarantees.checkNone('nothing else', ['a', 'b'])
  expect(guarantees.broken).toEqual(['in time: 7', 'nothing else: {"count":2,"first":["a","b"]}'])
})

test('a seed gives the same random numbers each time', () => {
  const [one, same, other] = [createRandom(7), createRandom(7), createRandom(8)]
  const drawn = Array.from({ length: 1000 }, () => one())
  expect(drawn).toEqual(drawn.map(() => same()))
  expect(drawn).not.toEqual(drawn.map(() => other()))
  expect(quantile(drawn, 0.5)).toBeGreaterThan(0.4)
  expect(quantile(drawn, 0.5)).toBeLessThan(0.6)
  expect([Math.min(...drawn) >= 0, Math.max(...drawn) < 1]).toEqual([true, true])
})

test('an invalid command line starts nothing and exits with code 2', async () => {
  const refused = promisify(execFile)(process.execPath, [script, '--cycles', 'many'])
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--cycles takes a whole') })
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--help'])
  expect(stdout).toContain('--seed')
  const none = promisify(execFile)(process.execPath, [script, '--only', 'no such'])
  await expect(none).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No scenario name contains "no such"'),
  })
})

test('the log, the doctor and the guide explain what operators meet: each kind of fault', async () => {
  const faults = ['a broken secret', 'an address without a database', 'a database that does not start', 'a stuck lock']
  const result = await operator(run(), faults)
  expect(result.broken).toEqual([])
  expect(result.figures).toEqual(Object.fromEntries(faults.map((name) => [name, 'explained'])))
})
