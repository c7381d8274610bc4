import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { audit } from './audit.ts'
import { startBalancer } from './balancer.ts'
import { Client } from './client.ts'
import { startDatabase } from './database.ts'
import { freePort } from '../shared/free-port.ts'
import { makeFaultsPlace } from './place.ts'
import { bootstrap, type ServiceOptions, startService } from '../shared/service.ts'
import { type Finding, Laws, rounded, type Run } from './scenario.ts'
import { Writers } from './writers.ts'

/** Milliseconds that a balancer gets to notice, however busy the machine is. */
const drain = 3000

/** Two services behind one port are restarted in turn by SIGTERM, under load: nobody notices. */
export async function rolling(run: Run, { rounds }: { rounds: number }): Promise<Finding> {
  const { say, template } = run
  const laws = new Laws()
  const place = await makeFaultsPlace(run.root)
  const database = await startDatabase(join(place.folder, 'database'), { template: run.template })
  const environment = {
    DATABASE_URL: database.url,
    SECRET: template?.secret ?? 'the same secret for both of them, of 32 characters and more',
    DRAIN_MILLISECONDS: String(drain),
  }
  const optionsOf = async (name: string): Promise<ServiceOptions> => ({
    port: await freePort(),
    dataFolder: join(place.folder, name),
    environment,
  })
  const members = [await optionsOf('one'), await optionsOf('two')]
  const running = []
  for (const options of members) running.push({ options, service: await startService(place, options) })
  const account = template?.account ?? (await bootstrap(place, members[0] ?? (await optionsOf('none')), 'Faults'))
  const balancer = await startBalancer(members.map(({ port }) => port))
  const client = new Client(`http://127.0.0.1:${balancer.port}`, account)
  const writers = new Writers({ client, triggerPath: new URL(account.triggerUrl).pathname, run })
  const [stops, starts]: [number[], number[]] = [[], []]
  writers.start()
  for (let round = 1; round <= rounds; round++) {
    for (const member of running) {
      await delay(500)
      const asked = performance.now()
      await member.service.stop()
      stops.push(performance.now() - asked)
      const began = performance.now()
      member.service = await startService(place, member.options)
      while (!balancer.has(member.options.port)) await delay(20)
      starts.push(performance.now() - began)
    }
    say(`${round} rounds, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await delay(500)
  await writers.stop()
  const others = [...writers.statuses].filter(([status]) => status < 200 || status >= 300)
  laws.none('no request fails', [...others, ...balancer.failures, ...writers.reasons])
  const audited = await audit({ client, writers, importId: account.importId, laws })
  await balancer.close()
  for (const { service } of running) await service.stop()
  await database.stop()
  await place.remove()
  const figures = {
    'restarts of each of the two': rounds,
    requests: [...writers.statuses.values()].reduce((sum, count) => sum + count, 0),
    failed: others.reduce((sum, [, count]) => sum + count, 0),
    'slowest answer, ms': rounded(writers.slowest),
    'stopped within, max ms': rounded(Math.max(...stops)),
    'ready again within, max ms': rounded(Math.max(...starts)),
    ...audited,
  }
  return { figures, broken: laws.broken }
}
