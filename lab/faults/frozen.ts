import { setTimeout as delay } from 'node:timers/promises'
import { processOf } from '../shared/usage.ts'
import { atEnd } from '../shared/cleanup.ts'
import { audit } from './audit.ts'
import type { Client, Reply } from './client.ts'
import { databaseProcesses, signalAll } from './programs.ts'
import { type Finding, Laws, quantile, rounded, type Run } from './scenario.ts'
import { openStage, recovery } from './stage.ts'

/** Reads a second that come meanwhile, whatever the answers. */
const arrivals = 50
/** Megabytes that the service's memory may grow by. */
const growth = 150

interface FrozenOptions {
  seconds: number
  /** Milliseconds within which every request has its answer. */
  patience: number
}

/** All processes of the database stand still, and go on later. */
export async function frozen(run: Run, { seconds, patience }: FrozenOptions): Promise<Finding> {
  const laws = new Laws()
  const stage = await openStage(run)
  const { writers, client, account, service, options } = stage
  writers.start()
  await recovery(writers, performance.now())
  await delay(1000)
  const memory = () => (processOf(service.pid).memory() ?? 0) / 1024 ** 2
  const [before, pids] = [memory(), await databaseProcesses(options.dataFolder)]
  signalAll(pids, 'SIGSTOP')
  const thaw = atEnd(async () => signalAll(pids, 'SIGCONT'))
  const seen = await watch(client, service.url, seconds, memory)
  await thaw()
  const back = await recovery(writers, performance.now())
  const reads = await Promise.all(seen.reads)
  await delay(1000)
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, laws })
  laws.none('every answer is good or says to come later', [
    ...writers.strange,
    ...reads.filter(({ status }) => ![200, 503].includes(status)).map(({ status }) => status),
  ])
  const slowest = Math.max(writers.slowest, ...reads.map(({ milliseconds }) => milliseconds))
  laws.hold(`every request is answered within ${patience} ms`, slowest < patience, rounded(slowest))
  const isSilent = ({ status, headers }: Reply) => status === 503 && !(Number(headers.get('retry-after')) >= 1)
  laws.none('every 503 says when to come back', [...writers.silent, ...reads.filter(isSilent)])
  laws.none('the service says that it lives', seen.deaths)
  laws.hold('writes are made again within 10 s', back < 10_000, rounded(back))
  laws.hold(`memory grows by ${growth} MB at most`, seen.most - before < growth, rounded(seen.most - before))
  await service.stop()
  await stage.place.remove()
  const figures = {
    'frozen for, s': seconds,
    ...writers.counts,
    ...audited,
    'reads meanwhile': reads.length,
    'reads refused, p50 and max ms': spread(reads.filter(({ status }) => status === 503)),
    'liveness answered, max ms': rounded(seen.slowestProbe),
    'memory before and at most, MB': `${rounded(before)}, ${rounded(seen.most)}`,
    'writes again after, ms': rounded(back),
  }
  return { figures, broken: laws.broken }
}

interface Seen {
  reads: Promise<Reply>[]
  /** Probes of liveness that were not answered well. */
  deaths: number[]
  slowestProbe: number
  /** Megabytes. */
  most: number
}

async function watch(client: Client, url: string, seconds: number, memory: () => number): Promise<Seen> {
  const seen: Seen = { reads: [], deaths: [], slowestProbe: 0, most: 0 }
  const ticks = seconds * arrivals
  for (let tick = 0; tick < ticks; tick++) {
    seen.reads.push(client.send({ method: 'GET', path: '/v5/contacts' }))
    if (tick % arrivals === 0) {
      const began = performance.now()
      const status = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(5000) }).then(
        (answer) => answer.status,
        () => 0,
      )
      if (status !== 200) seen.deaths.push(status)
      seen.slowestProbe = Math.max(seen.slowestProbe, performance.now() - began)
      seen.most = Math.max(seen.most, memory())
    }
    await delay(1000 / arrivals)
  }
  return seen
}

const spread = (replies: readonly Reply[]): string => {
  const times = replies.map(({ milliseconds }) => milliseconds)
  return times.length === 0 ? 'none' : `${rounded(quantile(times, 0.5))}, ${rounded(Math.max(...times))}`
}
