import type pg from 'pg'
import { connect } from './connect.ts'
import { StartError } from './start-error.ts'

export interface Distribution {
  tables: readonly string[]
  /** False to distribute only new tables of a database whose tables are distributed. */
  isWanted: boolean
  log: (message: string) => void
}

export async function isDistributed(connection: pg.ClientConfig): Promise<boolean> {
  const client = await connect({ ...connection, application_name: 'rapport migrate' })
  try {
    return (await distributedTables(client)).size > 0
  } finally {
    await client.end()
  }
}

/**
 * Distributes what is not yet distributed. Each step is complete or not done at all, so that an interrupted distribution
 * goes on where it stopped. Throws `StartError`.
 */
export async function distribute(session: pg.Client, { tables, isWanted, log }: Distribution): Promise<void> {
  if (!(await hasCitus(session))) {
    if (isWanted)
      throw new StartError('This database has no extension named citus. Create it first: create extension citus.')
    return
  }
  const distributed = await distributedTables(session)
  if (distributed.size === 0 && !isWanted) return
  const remaining = tables.filter((table) => !distributed.has(table))
  const isInterrupted = await hasPendingKeys(session)
  if (remaining.length === 0 && !isInterrupted) return distributeFunctions(session)
  if (isInterrupted && !isWanted) {
    throw new StartError(
      'The distribution of this database was interrupted. Finish it: stop all services, then run rapport migrate --distribute.',
    )
  }
  await assertWorkers(session)
  await dropTriggers(session)
  await setKeysAside(session, tables)
  for (const [index, table] of remaining.entries()) {
    await distributeTable(session, table, tables)
    log(`Distributed ${table} (${index + 1} of ${remaining.length}).`)
  }
  await restoreKeys(session, log)
  await distributeFunctions(session)
}

async function hasCitus(session: pg.Client): Promise<boolean> {
  return (await session.query(`select from pg_extension where extname = 'citus'`)).rows.length > 0
}

async function distributedTables(session: pg.Client): Promise<Set<string>> {
  if (!(await hasCitus(session))) return new Set()
  const { rows } = await session.query<{ name: string }>(
    `select logicalrelid::text as name from pg_dist_partition where partmethod = 'h'`,
  )
  return new Set(rows.map(({ name }) => name))
}

async function assertWorkers(session: pg.Client): Promise<void> {
  const { rows } = await session.query(`select from pg_dist_node where isactive and shouldhaveshards limit 1`)
  if (rows.length > 0) return
  throw new StartError(
    'Citus has no node for the records. Add the workers first: select citus_set_coordinator_host(…), then select citus_add_node(…) for each.',
  )
}

/** Citus supports no triggers on distributed tables. Those left are for processes of former releases only. */
async function dropTriggers(session: pg.Client): Promise<void> {
  const { rows } = await session.query<{ name: string; on: string }>(
    `select quote_ident(tgname) as name, tgrelid::regclass::text as "on" from pg_trigger
    join pg_class on pg_class.oid = tgrelid where not tgisinternal and relnamespace = 'public'::regnamespace`,
  )
  for (const { name, on } of rows) await session.query(`drop trigger ${name} on ${on}`)
}

async function distributeFunctions(session: pg.Client): Promise<void> {
  const { rows } = await session.query<{ signature: string }>(
    `select oid::regprocedure::text as signature from pg_proc
    where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
      and not exists (select from pg_dist_object where classid = 'pg_proc'::regclass and objid = pg_proc.oid)`,
  )
  for (const { signature } of rows) await session.query('select create_distributed_function($1)', [signature])
}

/** Foreign keys that are added again when all tables are distributed: one between the two kinds is not allowed. */
const pendingKeys = 'distribution_foreign_keys'

async function hasPendingKeys(session: pg.Client): Promise<boolean> {
  const { rows } = await session.query<{ found: boolean }>(`select to_regclass('${pendingKeys}') is not null as found`)
  return rows[0]?.found === true
}

async function setKeysAside(session: pg.Client, tables: readonly string[]): Promise<void> {
  const { rows: keys } = await session.query<{ of: string; name: string; definition: string }>(
    `select conrelid::regclass::text as of, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and conrelid = any($1::text[]::regclass[])
      and conrelid not in (select logicalrelid from pg_dist_partition)`,
    [tables],
  )
  await session.query('begin')
  await session.query(`create table if not exists ${pendingKeys} ("of" text, name text, definition text)`)
  for (const { of, name, definition } of keys) {
    await session.query(`insert into ${pendingKeys} values ($1, $2, $3)`, [of, name, definition])
    await session.query(`alter table ${of} drop constraint ${name}`)
  }
  await session.query('commit')
}

async function distributeTable(session: pg.Client, table: string, tables: readonly string[]): Promise<void> {
  const distributed = await distributedTables(session)
  const neighbour = tables.find((other) => distributed.has(other)) ?? 'none'
  await session.query('begin')
  await session.query(`select create_distributed_table($1, 'organization_id', colocate_with => $2)`, [table, neighbour])
  await session.query('select truncate_local_data_after_distributing_table($1)', [table])
  await session.query('commit')
}

async function restoreKeys(session: pg.Client, log: (message: string) => void): Promise<void> {
  const { rows } = await session.query<{ of: string; name: string; definition: string }>(`select * from ${pendingKeys}`)
  for (const { of, name, definition } of rows) {
    await session.query('begin')
    await session.query(`alter table ${of} add constraint ${name} ${definition}`)
    await session.query(`delete from ${pendingKeys} where "of" = $1 and name = $2`, [of, name])
    await session.query('commit')
  }
  await session.query(`drop table ${pendingKeys}`)
  log(`Added ${rows.length} foreign keys between distributed tables.`)
}
