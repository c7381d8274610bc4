import pg from 'pg'
import { readId } from '../../server/src/platform/model/ids.ts'
import { end } from '../shared/child.ts'
import { firstOf, startRole } from './children.ts'
import { atEnd } from '../shared/cleanup.ts'
import type { FloorTask } from './floor.ts'
import type { HttpTarget } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { type Account, connectEmbedded } from '../shared/service.ts'
import { type BenchPlace, type BenchService, bootstrapBench, startBenchService } from './service.ts'
import { databaseOf, parentOf, processOf, type Program, programOf } from '../shared/usage.ts'

/** The service and its database, from a start to a stop. */
export interface Stage {
  place: BenchPlace
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
  place: BenchPlace
  account: Account | undefined
  /** Settings of the service. */
  settings: Record<string, string>
  options: BenchOptions
  say: (line: string) => void
}

/** Starts the service; without an account it also makes one. */
export async function openStage({ place, account: known, settings, options, say }: StageOptions): Promise<Stage> {
  const service = await startBenchService(place, settings)
  const { connection, client, close } = await connectDatabase(place, say)
  const [version, postmaster] = await examine(client)
  const account = known ?? (await bootstrapBench(place, service))
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
      await close()
      await service.stop()
    },
  }
}

/** Connects to the database that the options name, or to the embedded one. */
async function connectDatabase({ database, dataFolder }: BenchPlace, say: (line: string) => void) {
  if (database === undefined) return connectEmbedded(dataFolder, say)
  const connection = { connectionString: database }
  const client = new pg.Client(connection)
  await client.connect()
  return { connection, client, close: atEnd(() => client.end()) }
}

const targetOf = ({ port, pid }: BenchService): HttpTarget => ({ name: 'service', port, program: programOf(pid) })

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
