import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { audit } from './audit.ts'
import { startDatabase } from './database.ts'
import { createFaultsWorkspace } from './workspace.ts'
import { type Fault, startProxy } from './proxy.ts'
import { type ScenarioResult, Guarantees, pickOne, quantile, rounded, type Run } from './scenario.ts'
import { startStage, recovery } from './stage.ts'

/** How long each lasts, in milliseconds from and to. */
const faults: Record<Exclude<Fault, 'none'>, readonly [number, number]> = {
  delay: [500, 2000],
  reset: [0, 500],
  'half-open': [1000, 6000],
}
type RealFault = keyof typeof faults

interface CutOptions {
  rounds: number
  /** Milliseconds within which every request has its answer. */
  responseLimit: number
}

/** Connections between service and database are delayed, reset, or swallow what is sent, under mixed writes. */
export async function cuts(run: Run, { rounds, responseLimit }: CutOptions): Promise<ScenarioResult> {
  const { random, log } = run
  const guarantees = new Guarantees()
  const workspace = await createFaultsWorkspace(run.root)
  const database = await startDatabase(join(workspace.folder, 'database'), { template: run.template })
  const proxy = await startProxy(database.socket)
  const environment = { DATABASE_URL: `postgres://${database.user}@127.0.0.1:${proxy.port}/${database.name}` }
  const stage = await startStage(run, { environment })
  const { writers, client, account } = stage
  const names = Object.keys(faults) as RealFault[]
  const times = new Map<RealFault, number[]>(names.map((name) => [name, []]))
  writers.start()
  await recovery(writers, performance.now())
  // Repeating what is unknown proves nothing where nothing is.
  for (let round = 0; round < rounds || writers.counts.unknown === 0; round++) {
    const name = names[round] ?? pickOne(names, random)
    const [min, max] = faults[name]
    proxy.inject(name)
    await delay(min + random() * (max - min))
    proxy.inject('none')
    times.get(name)?.push(await recovery(writers, performance.now()))
    await delay(200 + random() * 500)
    if (round % 10 === 9) log(`${round + 1} harms, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  guarantees.checkNone('every answer is good or says to come later', writers.unexpected)
  guarantees.checkNone('every 503 says when to come back', writers.withoutRetryAfter)
  guarantees.check(
    `every request is answered within ${responseLimit} ms`,
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
    'slowest answer, ms': rounded(writers.slowest),
    ...Object.fromEntries(names.map((name) => [`back after ${name}, p50 and max ms`, recoveryTimes(name)])),
  }
  return { figures, broken: guarantees.broken }
}
