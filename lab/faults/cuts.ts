import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { audit } from './audit.ts'
import { startDatabase } from './database.ts'
import { makeFaultsPlace } from './place.ts'
import { type Harm, startProxy } from './proxy.ts'
import { type Finding, Laws, oneOf, quantile, rounded, type Run } from './scenario.ts'
import { openStage, recovery } from './stage.ts'

/** How long each lasts, in milliseconds from and to. */
const harms: Record<Exclude<Harm, 'none'>, readonly [number, number]> = {
  delay: [500, 2000],
  reset: [0, 500],
  'half-open': [1000, 6000],
}
type RealHarm = keyof typeof harms

interface CutOptions {
  rounds: number
  /** Milliseconds within which every request has its answer. */
  patience: number
}

/** Connections between service and database are delayed, reset, or swallow what is sent, under mixed writes. */
export async function cuts(run: Run, { rounds, patience }: CutOptions): Promise<Finding> {
  const { random, say } = run
  const laws = new Laws()
  const place = await makeFaultsPlace(run.root)
  const database = await startDatabase(join(place.folder, 'database'), { template: run.template })
  const proxy = await startProxy(database.socket)
  const environment = { DATABASE_URL: `postgres://${database.user}@127.0.0.1:${proxy.port}/${database.name}` }
  const stage = await openStage(run, { environment })
  const { writers, client, account } = stage
  const names = Object.keys(harms) as RealHarm[]
  const times = new Map<RealHarm, number[]>(names.map((name) => [name, []]))
  writers.start()
  await recovery(writers, performance.now())
  // Repeating what is unknown proves nothing where nothing is.
  for (let round = 0; round < rounds || writers.counts.unknown === 0; round++) {
    const name = names[round] ?? oneOf(names, random)
    const [least, most] = harms[name]
    proxy.harm(name)
    await delay(least + random() * (most - least))
    proxy.harm('none')
    times.get(name)?.push(await recovery(writers, performance.now()))
    await delay(200 + random() * 500)
    if (round % 10 === 9) say(`${round + 1} harms, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, laws })
  laws.none('every answer is good or says to come later', writers.strange)
  laws.none('every 503 says when to come back', writers.silent)
  laws.hold(`every request is answered within ${patience} ms`, writers.slowest < patience, rounded(writers.slowest))
  await stage.service.stop()
  await stage.place.remove()
  await proxy.close()
  await database.stop()
  await place.remove()
  const back = (name: RealHarm) => {
    const all = times.get(name) ?? []
    return all.length === 0 ? '' : `${rounded(quantile(all, 0.5))}, ${rounded(Math.max(...all))}`
  }
  const figures = {
    harms: [...times.values()].flat().length,
    ...writers.counts,
    ...audited,
    'slowest answer, ms': rounded(writers.slowest),
    ...Object.fromEntries(names.map((name) => [`back after ${name}, p50 and max ms`, back(name)])),
  }
  return { figures, broken: laws.broken }
}
