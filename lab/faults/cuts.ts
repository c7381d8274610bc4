import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { audit } from './audit.ts'
import { startDatabase } from './database.ts'
import { createFaultsWorkspace } from './workspace.ts'
import { type Fault, startProxy } from './proxy.ts'
import { type ScenarioResult, Guarantees, pickOne, rounded, type Run } from './scenario.ts'
import { quantile } from '../shared/quantile.ts'
import { startTestbed, recovery } from './stage.ts'

/** Minimum and maximum duration in milliseconds. */
const faults: Record<Exclude<Fault, 'none'>, readonly [number, number]> = {
  delay: [500, 2000],
  reset: [0, 500],
  'half-open': [1000, 6000],
}
type RealFault = keyof typeof faults

interface CutOptions {
  rounds: number
  /** Milliseconds within which every request must get a response. */
  responseLimit: number
}

/** Delays, resets or silently drops the connections between service and database during mixed writes. */
export async function cuts(run: Run, { rounds, responseLimit }: CutOptions): Promise<ScenarioResult> {
  const { random, log } = run
  const guarantees = new Guarantees()
  const workspace = await createFaultsWorkspace(run.root)
  const database = await startDatabase(join(workspace.folder, 'database'), { template: run.template })
  const proxy = await startProxy(database.socket)
  const environment = { DATABASE_URL: `postgres://${database.user}@127.0.0.1:${proxy.port}/${database.name}` }
  const stage = await startTestbed(run, { environment })
  const { writers, client, account } = stage
  const names = Object.keys(faults) as RealFault[]
  const times = new Map<RealFault, number[]>(names.map((name) => [name, []]))
  writers.start()
  await recovery(writers, performance.now())
  // Without unknown changes, the test of repeating them would be void.
  for (let round = 0; round < rounds || writers.counts.unknown === 0; round++) {
    const name = names[round] ?? pickOne(names, random)
    const [min, max] = faults[name]
    proxy.inject(name)
    await delay(min + random() * (max - min))
    proxy.inject('none')
    times.get(name)?.push(await recovery(writers, performance.now()))
    await delay(200 + random() * 500)
    if (round % 10 === 9) log(`${round + 1} faults, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  guarantees.checkNone('every response is successful or asks to retry later', writers.unexpected)
  guarantees.checkNone('every 503 has a Retry-After header', writers.withoutRetryAfter)
  guarantees.check(
    `every request gets a response within ${responseLimit} ms`,
    writers.slowest < responseLimit,
    rounded(writers.slowest),
  )
  await stage.service.stop()
  await stage.workspace.remove()
  await proxy.close()
  await database.stop()
  await workspace.remove()
  const recoveryTimes = (name: RealFault) => {
    const all = times.get(name) ?? []
    return all.length === 0 ? '' : `${rounded(quantile(all, 0.5))}, ${rounded(Math.max(...all))}`
  }
  const figures = {
    faults: [...times.values()].flat().length,
    ...writers.counts,
    ...audited,
    'slowest response, ms': rounded(writers.slowest),
    ...Object.fromEntries(names.map((name) => [`recovered after ${name}, p50 and max ms`, recoveryTimes(name)])),
  }
  return { figures, broken: guarantees.broken }
}
