import pg from 'pg'
import { openEmbedded } from '../server/src/platform/database/embedded.ts'
import { readId } from '../server/src/platform/resource/ids.ts'
import { end } from '../tools/child.ts'
import { firstOf, startRole } from './children.ts'
import { atEnd } from '../tools/cleanup.ts'
import type { FloorTask } from './floor.ts'
import type { HttpTarget } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { type Account, type BenchService, bootstrap, type Place, startBenchService } from './service.ts'
import { databaseOf, parentOf, processOf, type Program } from '../tools/usage.ts'

/** The service and its database, from a start to a stop. */
export interface Stage {
  place: Place
  service: HttpTarget
  /** Seconds from the start of its process until it was ready. */
  startSeconds: number
  account: Account
  /** The ids of the account as uuids. */
  measured: Measured
  database: Program
  connection: pg.ClientConfig
  client: pg.Client
  options: BenchOptions
  say: (line: string) => void
  /** PostgreSQL's version. */
  version: string
  close(): Promise<void>
}

export interface Measured {
  organizationId: string
  teamId: string
  userId: string
  importId: string
}

interface StageOptions {
  place: Place
  account: Account | undefined
  /** Settings of the service. */
  settings: Record<string, string>
  options: BenchOptions
  say: (line: string) => void
}

/** Starts the service; without an account it also makes one. */
export async function openStage({ place, account: known, settings, options, say }: StageOptions): Promise<Stage> {
  const service = await startBenchService(place, settings)
  const embedded = await openEmbedded({ dataFolder: place.dataFolder, purpose: 'rapport bench', log: say })
  const closeEmbedded = atEnd(() => embedded.close())
  const { connection } = embedded
  const client = new pg.Client(connection)
  await client.connect()
  const closeClient = atEnd(() => client.end())
  const [version, postmaster] = await examine(client)
  const account = known ?? (await bootstrap(place))
  return {
    place,
    service: targetOf(service),
    startSeconds: service.startSeconds,
    account,
    measured: measuredOf(account),
    database: databaseOf(postmaster),
    connection,
    client,
    options,
    say,
    version,
    close: async () => {
      await closeClient()
      await closeEmbedded()
      await service.stop()
    },
  }
}

const targetOf = ({ port, pid }: BenchService): HttpTarget => ({ name: 'service', port, program: processOf(pid) })

const measuredOf = ({ organizationId, teamId, userId, importId }: Account): Measured => ({
  organizationId: uuidOf('org', organizationId),
  teamId: uuidOf('tea', teamId),
  userId: uuidOf('usr', userId),
  importId: uuidOf('imp', importId),
})

function uuidOf(prefix: string, text: string): string {
  const uuid = readId(prefix, text)
  if (uuid === undefined) throw new Error(`${text} is no ${prefix}_ id`)
  return uuid
}

/** PostgreSQL's version and its first process, which starts one for each connection. */
async function examine(client: pg.Client): Promise<[version: string, postmaster: number]> {
  const { rows } = await client.query<{ version: string; pid: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid`,
  )
  const [row] = rows
  const postmaster = row && parentOf(row.pid)
  return [row?.version ?? '', postmaster ?? 0]
}

/** Starts the process that the service is compared with. */
export async function startFloor(task: FloorTask): Promise<HttpTarget & { stop(): Promise<void> }> {
  const child = startRole('floor', task)
  const stop = atEnd(() => end(child))
  const { port } = JSON.parse(await firstOf(child)) as { port: number }
  return { name: 'floor', port, program: processOf(child.pid ?? 0), stop }
}
