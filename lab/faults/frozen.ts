import { setTimeout as delay } from 'node:timers/promises'
import { processOf } from '../shared/usage.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { audit } from './audit.ts'
import type { Client, Reply } from './client.ts'
import { databaseProcesses, signalAll } from './programs.ts'
import { type ScenarioResult, Guarantees, rounded, type Run } from './scenario.ts'
import { quantile } from '../shared/quantile.ts'
import { startTestbed, recovery } from './stage.ts'

/** Sent regardless of the responses. */
const readsPerSecond = 50
/** Limit for the growth of the service's memory, in MB. */
const maxGrowth = 150

interface FrozenOptions {
  seconds: number
  /** Milliseconds within which every request must get a response. */
  responseLimit: number
}

/** Stops all database processes with SIGSTOP, and continues them later. */
export async function frozen(run: Run, { seconds, responseLimit }: FrozenOptions): Promise<ScenarioResult> {
  const guarantees = new Guarantees()
  const stage = await startTestbed(run)
  const { writers, client, account, service, options } = stage
  writers.start()
  await recovery(writers, performance.now())
  await delay(1000)
  const memory = () => (processOf(service.pid).memory() ?? 0) / 1024 ** 2
  const [before, pids] = [memory(), await databaseProcesses(options.dataFolder)]
  signalAll(pids, 'SIGSTOP')
  const resume = addCleanup(async () => signalAll(pids, 'SIGCONT'))
  const observed = await watch(client, service.url, seconds, memory)
  await resume()
  const recoveredAfter = await recovery(writers, performance.now())
  const reads = await Promise.all(observed.reads)
  await delay(1000)
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  guarantees.checkNone('every response is successful or asks to retry later', [
    ...writers.unexpected,
    ...reads.filter(({ status }) => ![200, 503].includes(status)).map(({ status }) => status),
  ])
  const slowest = Math.max(writers.slowest, ...reads.map(({ milliseconds }) => milliseconds))
  guarantees.check(
    `every request gets a response within ${responseLimit} ms`,
    slowest < responseLimit,
    rounded(slowest),
  )
  const isSilent = ({ status, headers }: Reply) => status === 503 && !(Number(headers.get('retry-after')) >= 1)
  guarantees.checkNone('every 503 has a Retry-After header', [...writers.withoutRetryAfter, ...reads.filter(isSilent)])
  guarantees.checkNone('/healthz returns 200', observed.failedProbes)
  guarantees.check('writes resume within 10 s', recoveredAfter < 10_000, rounded(recoveredAfter))
  guarantees.check(
    `memory grows by at most ${maxGrowth} MB`,
    observed.maxMemory - before < maxGrowth,
    rounded(observed.maxMemory - before),
  )
  await service.stop()
  await stage.workspace.remove()
  const figures = {
    'frozen for, s': seconds,
    ...writers.counts,
    ...audited,
    'reads in the meantime': reads.length,
    'reads rejected, p50 and max ms': medianAndMax(reads.filter(({ status }) => status === 503)),
    '/healthz response, max ms': rounded(observed.slowestProbe),
    'memory before and max, MB': `${rounded(before)}, ${rounded(observed.maxMemory)}`,
    'writes resume after, ms': rounded(recoveredAfter),
  }
  return { figures, broken: guarantees.broken }
}

interface Observations {
  reads: Promise<Reply>[]
  /** Unsuccessful statuses of `/healthz`. */
  failedProbes: number[]
  slowestProbe: number
  /** Megabytes. */
  maxMemory: number
}

async function watch(client: Client, url: string, seconds: number, memory: () => number): Promise<Observations> {
  const observed: Observations = { reads: [], failedProbes: [], slowestProbe: 0, maxMemory: 0 }
  const ticks = seconds * readsPerSecond
  for (let tick = 0; tick < ticks; tick++) {
    observed.reads.push(client.send({ method: 'GET', path: '/v5/contacts' }))
    if (tick % readsPerSecond === 0) {
      const startedAt = performance.now()
      const status = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) }).then(
        (response) => response.status,
        () => 0,
      )
      if (status !== 200) observed.failedProbes.push(status)
      observed.slowestProbe = Math.max(observed.slowestProbe, performance.now() - startedAt)
      observed.maxMemory = Math.max(observed.maxMemory, memory())
    }
    await delay(1000 / readsPerSecond)
  }
  return observed
}

const medianAndMax = (replies: readonly Reply[]): string => {
  const times = replies.map(({ milliseconds }) => milliseconds)
  return times.length === 0 ? 'none' : `${rounded(quantile(times, 0.5))}, ${rounded(Math.max(...times))}`
}
