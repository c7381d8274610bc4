import pg from 'pg'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { terminate } from '../shared/child.ts'
import { firstLineOf, startRole } from './children.ts'
import { addCleanup } from '../shared/cleanup.ts'
import type { FloorTask } from './floor.ts'
import type { BenchOptions } from './options.ts'
import { type Account, connectEmbedded } from '../shared/service.ts'
import { type BenchWorkspace, type BenchService, bootstrapBench, startBenchService } from './service.ts'
import { databaseOf, parentOf, processOf, type Program, programOf } from '../shared/usage.ts'
import type { HttpTarget } from './http-target.ts'

/** A running service and its database. */
export interface Testbed {
  workspace: BenchWorkspace
  service: HttpTarget
  /** Seconds from the start of its process until it is ready. */
  startSeconds: number
  account: Account
  /** The ids of the account as UUIDs. */
  measured: Measured
  database: Program
  connection: pg.ClientConfig
  client: pg.Client
  options: BenchOptions
  log: (line: string) => void
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
  workspace: BenchWorkspace
  account: Account | undefined
  /** Settings of the service. */
  settings: Record<string, string>
  options: BenchOptions
  log: (line: string) => void
}

/** Starts the service, and creates an account if none is given. */
export async function startTestbed({
  workspace,
  account: existingAccount,
  settings,
  options,
  log,
}: StageOptions): Promise<Testbed> {
  const service = await startBenchService(workspace, settings)
  const { connection, client, close } = await connectDatabase(workspace, log)
  const [version, postmaster] = await inspectDatabase(client)
  const account = existingAccount ?? (await bootstrapBench(workspace, service))
  return {
    workspace,
    service: targetOf(service),
    startSeconds: service.startSeconds,
    account,
    measured: measuredOf(account),
    database: databaseOf(postmaster),
    connection,
    client,
    options,
    log,
    version,
    close: async () => {
      await close()
      await service.stop()
    },
  }
}

/** Connects to the database from the options, or to the embedded one. */
async function connectDatabase({ database, dataFolder }: BenchWorkspace, log: (line: string) => void) {
  if (database === undefined) return connectEmbedded(dataFolder, log)
  const connection = { connectionString: database }
  const client = new pg.Client(connection)
  await client.connect()
  return { connection, client, close: addCleanup(() => client.end()) }
}

const targetOf = ({ port, pid }: BenchService): HttpTarget => ({ name: 'service', port, program: programOf(pid) })

const measuredOf = ({ organizationId, teamId, userId, importId }: Account): Measured => ({
  organizationId: uuidOf('org', organizationId),
  teamId: uuidOf('tea', teamId),
  userId: uuidOf('usr', userId),
  importId: uuidOf('imp', importId),
})

function uuidOf(prefix: string, text: string): string {
  const uuid = decodeId(prefix, text)
  if (uuid === undefined) throw new Error(`${text}: expected an id that starts with ${prefix}_`)
  return uuid
}

/** The version of PostgreSQL and the process id of the postmaster. */
async function inspectDatabase(client: pg.Client): Promise<[version: string, postmaster: number]> {
  const { rows } = await client.query<{ version: string; pid: number }>(
    `select current_setting('server_version') as version, pg_backend_pid() as pid`,
  )
  const [row] = rows
  const postmaster = row && parentOf(row.pid)
  return [row?.version ?? '', postmaster ?? 0]
}

/** Starts the floor. */
export async function startFloor(task: FloorTask): Promise<HttpTarget & { stop(): Promise<void> }> {
  const child = startRole('floor', task)
  const stop = addCleanup(() => terminate(child))
  const { port } = JSON.parse(await firstLineOf(child)) as { port: number }
  return { name: 'floor', port, program: processOf(child.pid ?? 0), stop }
}
