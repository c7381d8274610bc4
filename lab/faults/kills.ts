import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf } from '../shared/usage.ts'
import { audit } from './audit.ts'
import { startService } from '../shared/service.ts'
import { databaseProcesses, signalAll } from './programs.ts'
import { type ScenarioResult, Guarantees, pickOne, rounded, type Run } from './scenario.ts'
import { quantile } from '../shared/quantile.ts'
import { startTestbed, recovery, type Testbed } from './stage.ts'

const victims = ['service', 'database', 'one of its processes', 'both'] as const
type Victim = (typeof victims)[number]

interface KillOptions {
  cycles: number
  /** Milliseconds within which writes must resume. */
  recoveryLimit: number
}

/** Sends SIGKILL at random times during mixed writes. The service is restarted immediately, as a supervisor would. */
export async function kills(run: Run, { cycles, recoveryLimit }: KillOptions): Promise<ScenarioResult> {
  const { random, log } = run
  const guarantees = new Guarantees()
  const stage = await startTestbed(run)
  const { writers } = stage
  const times = new Map<Victim, number[]>(victims.map((victim) => [victim, []]))
  writers.start()
  await recovery(writers, performance.now())
  // Without unknown changes, the test of repeating them would be void.
  for (let cycle = 1; cycle <= cycles || writers.counts.unknown === 0; cycle++) {
    await delay(50 + random() * 500)
    // Each kind once, then at random.
    const victim = victims[cycle - 1] ?? pickOne(victims, random)
    const moment = performance.now()
    await kill(stage, victim, random)
    times.get(victim)?.push(await recovery(writers, performance.now(), moment))
    if (cycle % 10 === 0) log(`${cycle} kills, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await writers.stop()
  const { client, account } = stage
  const audited = await audit({ client, writers, importId: account.importId, guarantees, losesWorkers: true })
  guarantees.checkNone('every response is successful or asks to retry later', writers.unexpected)
  guarantees.checkNone('every 503 has a Retry-After header', writers.withoutRetryAfter)
  await stage.service.stop()
  await stage.workspace.remove()
  const all = [...times.values()].flat()
  guarantees.check(
    `writes resume within ${recoveryLimit} ms`,
    Math.max(...all) < recoveryLimit,
    rounded(Math.max(...all)),
  )
  const figures = {
    kills: all.length,
    ...writers.counts,
    ...audited,
    ...Object.fromEntries(
      victims.map((victim) => [
        `recovered after kill -9 of ${victim}, p50 and max ms`,
        medianAndMax(times.get(victim)),
      ]),
    ),
  }
  return { figures, broken: guarantees.broken }
}

const medianAndMax = (values: readonly number[] = []): string =>
  values.length === 0 ? '' : `${rounded(quantile(values, 0.5))}, ${rounded(Math.max(...values))}`

/**
 * Resolves once the killed processes are gone. A database process may outlive the postmaster briefly and still respond.
 */
async function kill(stage: Testbed, victim: Victim, random: () => number): Promise<void> {
  const { workspace, options } = stage
  const [postmaster] = await databaseProcesses(options.dataFolder)
  if (postmaster === undefined) throw new Error('The database is not running.')
  if (victim === 'database' || victim === 'both') signalAll([postmaster], 'SIGKILL')
  if (victim === 'one of its processes') await killOneOf(postmaster, random)
  if (victim === 'database') await waitForRestart(options.dataFolder, postmaster)
  if (victim !== 'service' && victim !== 'both') return
  stage.service.signal('SIGKILL')
  await stage.service.exited
  stage.service = await startService(workspace, options)
}

/** Kills a child of the postmaster, which then stops the others; until then, they may still respond. */
async function killOneOf(postmaster: number, random: () => number): Promise<void> {
  for (let attempts = 0; attempts < 5; attempts++) {
    const before = childrenOf(postmaster)
    signalAll([pickOne(before, random)], 'SIGKILL')
    for (const deadline = performance.now() + 15_000; performance.now() < deadline; await delay(10)) {
      const now = new Set(childrenOf(postmaster))
      if (!before.some((pid) => now.has(pid))) return
    }
    // The process was already exiting, so the postmaster did not notice the kill.
  }
  throw new Error('The database did not restart after one of its processes was killed.')
}

/** Waits until the service has restarted the database. */
async function waitForRestart(dataFolder: string, killed: number): Promise<void> {
  for (const deadline = performance.now() + 60_000; ; await delay(10)) {
    const [postmaster = killed] = await databaseProcesses(dataFolder)
    if (postmaster !== killed) return
    if (performance.now() > deadline) throw new Error('The service did not restart the database.')
  }
}
