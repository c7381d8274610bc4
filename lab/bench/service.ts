import { join } from 'node:path'
import { freePort } from '../shared/free-port.ts'
import { type Account, bootstrap, makePlace, type Place, startService } from '../shared/service.ts'

/** Where services of one run follow each other on one database. */
export interface BenchPlace extends Place {
  dataFolder: string
  /** URL of the database; undefined for the embedded one. */
  database: string | undefined
  /** A folder for CPU profiles. */
  profile: string | undefined
}

/** The service as a user starts it. */
export interface BenchService {
  pid: number
  port: number
  /** Seconds from the start of its process until it was ready. */
  startSeconds: number
  stop(): Promise<void>
}

export async function makeBenchPlace(
  root: string,
  { database, profile }: Pick<BenchPlace, 'database' | 'profile'>,
): Promise<BenchPlace> {
  const place = await makePlace(root, 'bench', database === undefined ? {} : { DATABASE_URL: database })
  return { ...place, dataFolder: join(place.folder, 'data'), database, profile }
}

export async function startBenchService(place: BenchPlace, environment: Record<string, string>): Promise<BenchService> {
  const { dataFolder, profile } = place
  const nodeArguments = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]
  const port = await freePort()
  const began = performance.now()
  const { pid, stop } = await startService(place, { port, dataFolder, environment, nodeArguments })
  return { pid, port, startSeconds: (performance.now() - began) / 1000, stop }
}

/** Makes the organization that is measured; the service runs. */
export const bootstrapBench = (place: BenchPlace, { port }: BenchService): Promise<Account> =>
  bootstrap(place, { port, dataFolder: place.dataFolder }, 'Bench')
