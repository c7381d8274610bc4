import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../shared/free-port.ts'
import { Client } from './client.ts'
import { createFaultsWorkspace } from './workspace.ts'
import {
  type Account,
  bootstrap,
  type Workspace,
  type ServiceOptions,
  type ServiceProcess,
  startService,
} from '../shared/service.ts'
import type { Run } from './scenario.ts'
import { copyFolder } from './template.ts'
import { Writers } from './writers.ts'

/** Milliseconds. */
const timeout = 90_000

/** A service with its own database, an account, and writers that are not yet started. */
export interface Testbed {
  workspace: Workspace
  options: ServiceOptions
  service: ServiceProcess
  account: Account
  client: Client
  writers: Writers
}

/** Starts a service with its own database, unless `environment` contains a `DATABASE_URL`. */
export async function startTestbed(
  run: Run,
  { environment, nodeArguments, dataFolder }: Partial<Omit<ServiceOptions, 'port'>> = {},
): Promise<Testbed> {
  const { template } = run
  const workspace = await createFaultsWorkspace(run.root)
  const options: ServiceOptions = {
    port: await freePort(),
    dataFolder: dataFolder ?? join(workspace.folder, 'data'),
    environment: { ...(template && { SECRET: template.secret }), ...environment },
    ...(nodeArguments !== undefined && { nodeArguments }),
  }
  // Another database has already been initialized from the template.
  if (template && environment?.DATABASE_URL === undefined) await copyFolder(template.dataFolder, options.dataFolder)
  const service = await startService(workspace, options)
  const account = template ? { ...template.account } : await bootstrap(workspace, options, 'Faults')
  const client = new Client(service.url, account)
  const writers = await createWriters(client, account, run)
  return { workspace, options, service, account, client, writers }
}

/** Writers of this account; their deals move between the open stages of its first pipeline. */
export async function createWriters(client: Client, account: Account, run: Run): Promise<Writers> {
  const [pipeline] = await client.read<{ id: string }[]>('/v5/pipelines?limit=1')
  const stages = await client.read<{ id: string }[]>(`/v5/pipelines/${pipeline?.id}/stages?kind=open`)
  const triggerPath = new URL(account.triggerUrl).pathname
  return new Writers({ client, triggerPath, stageIds: stages.map(({ id }) => id), run })
}

/**
 * Waits until a write sent after `moment` is acknowledged. Returns the milliseconds since `began`, the start of the fault.
 */
export async function recovery(writers: Writers, moment: number, began = moment): Promise<number> {
  for (const deadline = moment + timeout; performance.now() < deadline; await delay(5)) {
    const at = writers.firstAcknowledgedAfter(moment)
    if (at !== undefined) {
      writers.clearAcknowledged()
      return at - began
    }
  }
  throw new Error(`No write was acknowledged within ${timeout} ms.`)
}
