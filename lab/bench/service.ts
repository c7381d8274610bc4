import { join } from 'node:path'
import { freePort } from '../shared/free-port.ts'
import { type Account, bootstrap, createWorkspace, type Workspace, startService } from '../shared/service.ts'
import { keptWorkspace } from './kept.ts'

/** The workspace of one run, in which services run one after the other on one database. */
export interface BenchWorkspace extends Workspace {
  dataFolder: string
  /** URL of the database; undefined for the embedded one. */
  database: string | undefined
  /** A folder for CPU profiles. */
  profile: string | undefined
}

/** A running service, started as a user would. */
export interface BenchService {
  pid: number
  port: number
  /** Seconds from the start of its process until it is ready. */
  startSeconds: number
  stop(): Promise<void>
}

export async function createBenchWorkspace(
  root: string,
  { database, profile, folder }: Pick<BenchWorkspace, 'database' | 'profile'> & { folder: string | undefined },
): Promise<BenchWorkspace> {
  const settings = database === undefined ? {} : { DATABASE_URL: database }
  const workspace =
    folder === undefined ? await createWorkspace(root, 'bench', settings) : await keptWorkspace(root, folder)
  return { ...workspace, dataFolder: join(workspace.folder, 'data'), database, profile }
}

export async function startBenchService(
  workspace: BenchWorkspace,
  environment: Record<string, string>,
): Promise<BenchService> {
  const { dataFolder, profile } = workspace
  const nodeArguments = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const port = await freePort()
  const startedAt = performance.now()
  const { pid, stop } = await startService(workspace, { port, dataFolder, environment, nodeArguments })
  return { pid, port, startSeconds: (performance.now() - startedAt) / 1000, stop }
}

/** Creates the measured organization; the service must be running. */
export const bootstrapBench = (workspace: BenchWorkspace, { port }: BenchService): Promise<Account> =>
  bootstrap(workspace, { port, dataFolder: workspace.dataFolder }, 'Bench')
