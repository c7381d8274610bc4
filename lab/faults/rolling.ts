import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { audit } from './audit.ts'
import { startBalancer } from './balancer.ts'
import { Client } from './client.ts'
import { startDatabase } from './database.ts'
import { freePort } from '../shared/free-port.ts'
import { createFaultsWorkspace } from './workspace.ts'
import { bootstrap, type ServiceOptions, startService } from '../shared/service.ts'
import { type ScenarioResult, Guarantees, rounded, type Run } from './scenario.ts'
import { createWriters } from './stage.ts'

/** Milliseconds; long enough for the balancer to notice on a busy machine. */
const drain = 3000

/** Restarts two services behind one load balancer in turn with SIGTERM under load; no request may fail. */
export async function rolling(run: Run, { rounds }: { rounds: number }): Promise<ScenarioResult> {
  const { log, template } = run
  const guarantees = new Guarantees()
  const workspace = await createFaultsWorkspace(run.root)
  const database = await startDatabase(join(workspace.folder, 'database'), { template: run.template })
  const environment = {
    DATABASE_URL: database.url,
    SECRET: template?.secret ?? 'the same secret for both of them, of 32 characters and more',
    DRAIN_MILLISECONDS: String(drain),
  }
  const optionsOf = async (name: string): Promise<ServiceOptions> => ({
    port: await freePort(),
    dataFolder: join(workspace.folder, name),
    environment,
  })
  const serviceOptions = [await optionsOf('one'), await optionsOf('two')]
  const instances = []
  for (const options of serviceOptions) instances.push({ options, service: await startService(workspace, options) })
  const account =
    template?.account ?? (await bootstrap(workspace, serviceOptions[0] ?? (await optionsOf('none')), 'Faults'))
  const balancer = await startBalancer(serviceOptions.map(({ port }) => port))
  const client = new Client(`http://127.0.0.1:${balancer.port}`, account)
  const writers = await createWriters(client, account, run)
  const [stops, starts]: [number[], number[]] = [[], []]
  writers.start()
  for (let round = 1; round <= rounds; round++) {
    for (const instance of instances) {
      await delay(500)
      const stopRequestedAt = performance.now()
      await instance.service.stop()
      stops.push(performance.now() - stopRequestedAt)
      const startedAt = performance.now()
      instance.service = await startService(workspace, instance.options)
      while (!balancer.has(instance.options.port)) await delay(20)
      starts.push(performance.now() - startedAt)
    }
    log(`${round} rounds, ${writers.counts.acknowledged} writes acknowledged`)
  }
  await delay(500)
  await writers.stop()
  const others = [...writers.statuses].filter(([status]) => status < 200 || status >= 300)
  guarantees.checkNone('no request fails', [...others, ...balancer.failures, ...writers.reasons])
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  await balancer.close()
  for (const { service } of instances) await service.stop()
  await database.stop()
  await workspace.remove()
  const figures = {
    'restarts of each of the two': rounds,
    requests: [...writers.statuses.values()].reduce((sum, count) => sum + count, 0),
    failed: others.reduce((sum, [, count]) => sum + count, 0),
    'slowest response, ms': rounded(writers.slowest),
    'stopped after, max ms': rounded(Math.max(...stops)),
    'ready again after, max ms': rounded(Math.max(...starts)),
    ...audited,
  }
  return { figures, broken: guarantees.broken }
}
