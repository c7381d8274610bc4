import pg from 'pg'
import { connect } from '../../platform/database/connect.ts'
import { isConnectionLoss, sqlState } from '../../platform/database/failures.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { type DroppedIndexes, dropIndexes, recreateIndexes } from '../../platform/database/dropped-indexes.ts'
import type { Sql } from '../../platform/model/sql.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { type BootstrapResult, type BootstrapOptions, planBootstrap, type PlannedBootstrap } from '../bootstrap.ts'
import { Failure } from '../command.ts'
import { derivedTables, fill, type TableCounts, filledTables } from './load.ts'

export interface CreateDemoOptions extends BootstrapOptions {
  connection: pg.ClientConfig
  contacts: number
  seed: number
  /** Midnight of the reference day, in milliseconds. All dates lie in the two years before it. */
  day: number
  /** Interrupts the command, which then stores nothing. */
  signal: AbortSignal
  log: (message: string) => void
  progress: {
    loaded: (contacts: number) => void
    indexed: (created: number, all: number) => void
  }
}

export interface DemoResult {
  bootstrap: BootstrapResult
  partnerTeamId: string
  counts: TableCounts
  seconds: number
}

/** Tables whose indexes are dropped while an empty database is filled. */
const indexedTables = [...filledTables, 'company_external_ids']

/**
 * Creates an organization full of fictional people in one transaction: complete or not at all, however the command
 * ends. Errors: `StartError`, `Failure`.
 */
export async function createDemo(options: CreateDemoOptions): Promise<DemoResult> {
  const { connection, signal, log } = options
  const plan = await planBootstrap(options)
  const client = await connect({ ...connection, keepAlive: true, application_name: 'rapport demo' })
  const interrupt = () => client.connection.stream.destroy()
  signal.addEventListener('abort', interrupt)
  let isCommitting = false
  try {
    if (signal.aborted) interrupt()
    const began = performance.now()
    await prepareSession(client)
    await client.query('begin')
    const droppedIndexes = await dropIndexesIfEmpty(client)
    const created = await fillOrganization(client, plan, options)
    await recreateIndexes(client, droppedIndexes, (done) => options.progress.indexed(done, droppedIndexes.length))
    // From here on, the commit may succeed and must not be interrupted.
    signal.removeEventListener('abort', interrupt)
    isCommitting = true
    await client.query('commit')
    // The organization exists: its credentials must be printed whatever happens next.
    await updateStatistics(client, droppedIndexes).catch((error: unknown) =>
      log(`Updating the statistics failed: ${String(error)}.`),
    )
    return { ...created, seconds: (performance.now() - began) / 1000 }
  } catch (error) {
    throw translateError(error, { isCommitting, isInterrupted: signal.aborted })
  } finally {
    signal.removeEventListener('abort', interrupt)
    client.end().catch(() => undefined)
  }
}

async function fillOrganization(
  client: pg.Client,
  { insert, organizationId, teamId, ownerId, importId }: PlannedBootstrap,
  { seed, contacts, day, progress }: CreateDemoOptions,
): Promise<Omit<DemoResult, 'seconds'>> {
  const bootstrap = await insert(crossTenantConnection(client))
  const partnerTeamId = newId()
  const team = [organizationId, partnerTeamId, 'Partners']
  await client.query('insert into teams (organization_id, id, name) values ($1, $2, $3)', team)
  const demo = { seed, contacts, end: day, organizationId, teamId, partnerTeamId, ownerId, importId }
  const counts = await fill(client, demo, progress.loaded)
  return { bootstrap, partnerTeamId: encodeId('tea', partnerTeamId), counts }
}

/** Explains why nothing was stored. */
function translateError(
  error: unknown,
  { isCommitting, isInterrupted }: { isCommitting: boolean; isInterrupted: boolean },
) {
  if (isCommitting) {
    const message =
      'The database did not confirm, so the organization may or may not exist. Check before you try again.'
    return new Failure(message, { cause: error })
  }
  if (isInterrupted) return new Failure('Interrupted: nothing was stored.', { cause: error })
  if (!(error instanceof pg.DatabaseError) && !isConnectionLoss(error)) return error
  return new Failure(`The database reported an error: ${(error as Error).message}. Nothing was stored.`, {
    cause: error,
  })
}

/** Removes the limits that apply to requests, and adds memory for building indexes. */
async function prepareSession(client: pg.Client): Promise<void> {
  await client.query(`
    set statement_timeout = 0;
    set idle_in_transaction_session_timeout = 0;
    set lock_timeout = '10s';
    set timezone = 'UTC';
    set maintenance_work_mem = '128MB';
    set work_mem = '32MB';
    set gin_pending_list_limit = '16MB'`)
  // Otherwise, a server that is building an index does not notice that this process has exited. Not supported on every
  // system.
  await client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)
}

/** Lock not available, deadlock detected. */
const lockErrorCodes = ['55P03', '40P01']

/**
 * Building indexes is faster when the tables are full. Only if there is no organization yet: the tables stay locked
 * until the end, and nobody can be reading them. If they cannot be locked, the indexes stay.
 */
async function dropIndexesIfEmpty(client: pg.Client): Promise<DroppedIndexes> {
  if (!(await isEmpty(client))) return []
  try {
    await client.query('lock table organizations in access exclusive mode')
    await client.query(`lock table ${indexedTables.join(', ')} in access exclusive mode`)
    // Another process may have been faster.
    return (await isEmpty(client)) ? await dropIndexes(client, indexedTables) : []
  } catch (error) {
    if (!lockErrorCodes.includes(sqlState(error) ?? '')) throw error
    await client.query('rollback')
    await client.query('begin')
    return []
  }
}

async function isEmpty(client: pg.Client): Promise<boolean> {
  const areEmpty = async (tables: readonly string[]) => {
    const { rows } = await client.query<{ empty: boolean }>(
      `select ${tables.map((table) => `not exists (select from ${table})`).join(' and ')} as empty`,
    )
    return rows[0]?.empty ?? false
  }
  return (await areEmpty(['organizations'])) && (await areEmpty(indexedTables))
}

/** Updates the statistics, and moves pending entries into the GIN indexes so that searches need not scan them. */
async function updateStatistics(client: pg.Client, droppedIndexes: DroppedIndexes): Promise<void> {
  await client.query(`analyze ${[...filledTables, ...derivedTables].join(', ')}`)
  if (droppedIndexes.length > 0) return
  await client.query(
    `select gin_clean_pending_list(index.indexrelid) from pg_index index
      join pg_class class on class.oid = index.indexrelid join pg_am access on access.oid = class.relam
      where access.amname = 'gin' and index.indrelid = any($1::text[]::regclass[])`,
    [indexedTables],
  )
}

const crossTenantConnection = (client: pg.Client): CrossTenantConnection => ({
  query: async <Row extends object>(statement: Sql) =>
    (await client.query<Row & pg.QueryResultRow>(statement.render())).rows,
})
