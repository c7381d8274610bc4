import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { withoutComments } from '../split-statements.ts'
import { StartError } from '../start-error.ts'

export interface Distribution {
  tables: readonly string[]
  /** True to distribute a database that contains records. An empty one is distributed without being asked. */
  isWanted: boolean
  log: (message: string) => void
  ownSessions: readonly number[]
}

export type DistributionState = 'impossible' | 'none' | 'interrupted' | 'complete'

export async function distributionState(session: pg.Client): Promise<DistributionState> {
  if (!(await hasCitus(session))) return 'impossible'
  if (await isTrue(session, `to_regclass('${pendingKeys}') is not null`)) return 'interrupted'
  if ((await distributedTables(session)).size > 0) return 'complete'
  const hasNodes = await isTrue(session, 'exists (select from pg_dist_node where isactive and shouldhaveshards)')
  return hasNodes ? 'none' : 'impossible'
}

/** How migrations are sent, and what follows them. */
export interface MigrationTarget {
  /** Undefined if whole files are sent. */
  statements?: { begin(): Promise<void>; send(text: string): Promise<void> }
  /** `isNew`: nothing was in the database before. */
  finish(isNew: boolean): Promise<void>
}

/** Continues an interrupted distribution before the migrations; without `distribution`, nothing is distributed. */
export async function openTarget(session: pg.Client, distribution: Distribution | undefined): Promise<MigrationTarget> {
  const state = distribution ? await distributionState(session) : 'impossible'
  if (distribution && state === 'interrupted') await distribute(session, { ...distribution, isNew: false })
  const isDistributed = state === 'interrupted' || state === 'complete'
  if (!isDistributed) await changeCoordinatorOnly(session, true)
  return {
    ...(distribution &&
      isDistributed && {
        statements: {
          begin: async () => void (await session.query(allowManyChanges)),
          send: (text) => sendDistributed(session, text, distribution),
        },
      }),
    finish: async (isNew) => {
      await changeCoordinatorOnly(session, false)
      if (distribution) await distribute(session, { ...distribution, isNew })
    },
  }
}

/**
 * Distributes the tables if it is wanted, or if they are empty and no service uses them. Each step is one transaction;
 * the first creates the table of pending keys, and the last drops it. Throws `StartError`.
 */
async function distribute(
  session: pg.Client,
  { tables: listed, isWanted, log, ownSessions, isNew }: Distribution & { isNew: boolean },
): Promise<void> {
  const state = await distributionState(session)
  if (state === 'complete') return distributeFunctions(session, listed)
  if (state === 'impossible') {
    if (isWanted) throw new StartError(noNodes)
    return
  }
  const tables = await existingTables(session, listed)
  const isEmpty = await areEmpty(session, tables)
  const services = isNew ? 0 : await countServices(session, ownSessions)
  if (!isWanted && (!isEmpty || services > 0)) {
    if (state === 'interrupted') throw new StartError(interrupted)
    log(notDistributed)
    return
  }
  if (services > 0) {
    throw new StartError(
      `${services} connections of services are open on this database. Nothing was changed. Stop all services, then run \`rapport migrate --distribute\` again.`,
    )
  }
  try {
    await session.query(stopWithClient)
    if (state === 'none') await setKeysAside(session, tables)
    await distributeTables(session, tables, { log, isEmpty })
    await restoreKeys(session, { log, isEmpty })
    await distributeFunctions(session, tables)
    await session.query(`drop table ${pendingKeys}`)
  } catch (cause) {
    if (!isWanted) throw cause
    const reason = cause instanceof Error ? cause.message.trim() : String(cause)
    throw new StartError(
      `The distribution was interrupted: ${reason}. Run \`rapport migrate --distribute\` again, which continues it.`,
      { cause },
    )
  }
}

/** Sends a statement of a migration; distributes a new table of the list. Skips what Citus refuses and nothing needs. */
async function sendDistributed(
  session: pg.Client,
  statement: string,
  { tables, log }: Pick<Distribution, 'tables' | 'log'>,
): Promise<void> {
  const text = withoutComments(statement)
  if (triggerStatement.test(text) || tables.includes(statisticsTarget.exec(text)?.[1] ?? '')) {
    log(`Skipped on Citus: ${text.split('\n', 1)[0]}`)
    return
  }
  await session.query(statement)
  const created = newTable.exec(text)?.[1]
  if (created !== undefined && tables.includes(created))
    await distributeTable(session, created, await distributedTables(session))
}

const newTable = /^create\s+table\s+(?:if\s+not\s+exists\s+)?"?(\w+)/i
const triggerStatement = /^(?:create\s+(?:or\s+replace\s+)?(?:constraint\s+)?|drop\s+)trigger\s/i
const statisticsTarget = /^alter\s+table\s+(\w+)\s+alter\s+(?:column\s+)?\w+\s+set\s+statistics\s+\S+$/i

/** Changes the coordinator only, which is fast and takes no superuser; a distribution adds what the workers need. */
export async function changeCoordinatorOnly(session: pg.Client, isOn: boolean): Promise<void> {
  if (await hasCitus(session)) await session.query(`set citus.enable_ddl_propagation = ${isOn ? 'off' : 'on'}`)
}

const allowManyChanges = `set local citus.multi_shard_modify_mode = 'sequential'`

const notDistributed =
  'Citus is available, but the records are not distributed. To distribute them, stop all services and run `rapport migrate --distribute`.'

const interrupted =
  'The distribution of this database was interrupted. Finish it: stop all services, then run `rapport migrate --distribute`.'

const noNodes =
  'This database has no Citus workers for the records. Create the extension citus in the database of this name on every node, then run on the coordinator: select citus_set_coordinator_host(…), and select citus_add_node(…) for each worker.'

/** Otherwise the server would continue a long copy after this process was killed. */
const stopWithClient = `set client_connection_check_interval = '1s'`

/** Tables per transaction: fewer are slower, and many need more locks than a server has. */
const batchOfEmptyTables = 10

async function isTrue(session: pg.Client, condition: string): Promise<boolean> {
  return (await session.query<{ found: boolean }>(`select ${condition} as found`)).rows[0]?.found === true
}

const hasCitus = (session: pg.Client): Promise<boolean> =>
  isTrue(session, `exists (select from pg_extension where extname = 'citus')`)

/** After an interruption, a newer release may have more. */
async function existingTables(session: pg.Client, tables: readonly string[]): Promise<string[]> {
  const { rows } = await session.query<{ name: string }>(
    'select name from unnest($1::text[]) with ordinality as listed (name, position) where to_regclass(name) is not null order by position',
    [tables],
  )
  return rows.map(({ name }) => name)
}

/** Some of them may be distributed, and Citus does not support statements on both kinds. */
async function areEmpty(session: pg.Client, tables: readonly string[]): Promise<boolean> {
  for (const table of tables)
    if ((await session.query(`select true from ${table} limit 1`)).rows.length > 0) return false
  return true
}

export async function distributedTables(session: pg.Client): Promise<Set<string>> {
  if (!(await hasCitus(session))) return new Set()
  const { rows } = await session.query<{ name: string }>(
    `select logicalrelid::text as name from pg_dist_partition where partmethod = 'h'`,
  )
  return new Set(rows.map(({ name }) => name))
}

/** On all nodes. Those that migrate do not count: they wait. Counts repeatedly, because closed ones stay listed a moment. */
async function countServices(session: pg.Client, ownSessions: readonly number[]): Promise<number> {
  for (let attempts = 1; ; attempts++) {
    const { rows } = await session.query<{ count: number }>(
      `select count(*)::int as count from citus_stat_activity
      where datname = current_database() and not is_worker_query and pid <> all($1::int[])
        and application_name <> 'rapport migrate'
        and (application_name like 'rapport%' or application_name = current_setting('application_name'))`,
      [ownSessions],
    )
    const count = rows[0]?.count ?? 0
    if (count === 0 || attempts === 5) return count
    await delay(200)
  }
}

/** During a distribution, the foreign keys: Citus refuses one from a distributed to another table. */
export const pendingKeys = 'distribution_foreign_keys'

/** Also drops the triggers, which Citus does not support: nothing depends on them. */
async function setKeysAside(session: pg.Client, tables: readonly string[]): Promise<void> {
  const { rows: triggers } = await session.query<{ name: string; on: string }>(
    `select quote_ident(tgname) as name, tgrelid::regclass::text as "on" from pg_trigger
    join pg_class on pg_class.oid = tgrelid where not tgisinternal and relnamespace = 'public'::regnamespace`,
  )
  const { rows: keys } = await session.query<ForeignKey>(
    `select conrelid::regclass::text as of, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'f' and conrelid = any($1::text[]::regclass[])`,
    [tables],
  )
  await inTransaction(session, async () => {
    for (const { name, on } of triggers) await session.query(`drop trigger ${name} on ${on}`)
    await session.query(`create table ${pendingKeys} ("of" text, name text, definition text)`)
    for (const { of, name, definition } of keys) {
      await session.query(`insert into ${pendingKeys} values ($1, $2, $3)`, [of, name, definition])
      await session.query(`alter table ${of} drop constraint ${name}`)
    }
  })
}

interface ForeignKey {
  of: string
  name: string
  definition: string
}

interface Steps {
  log: (message: string) => void
  isEmpty: boolean
}

async function distributeTables(session: pg.Client, tables: readonly string[], { log, isEmpty }: Steps): Promise<void> {
  const distributed = await distributedTables(session)
  const remaining = tables.filter((table) => !distributed.has(table))
  for (const part of parts(remaining, isEmpty ? batchOfEmptyTables : 1)) {
    await inTransaction(session, async () => {
      for (const table of part) {
        await distributeTable(session, table, distributed)
        if (!isEmpty) await session.query('select truncate_local_data_after_distributing_table($1)', [table])
        distributed.add(table)
      }
    })
    for (const table of part) log(`Distributed ${table} (${tables.indexOf(table) + 1} of ${tables.length}).`)
  }
}

async function distributeTable(session: pg.Client, table: string, others: ReadonlySet<string>): Promise<void> {
  const [neighbour = 'none'] = others
  await session.query(`select create_distributed_table($1, 'organization_id', colocate_with => $2)`, [table, neighbour])
}

async function restoreKeys(session: pg.Client, { log, isEmpty }: Steps): Promise<void> {
  const { rows } = await session.query<ForeignKey>(`select * from ${pendingKeys}`)
  let added = 0
  for (const part of parts(rows, isEmpty ? rows.length : 1)) {
    await inTransaction(session, async () => {
      for (const { of, name, definition } of part) {
        await session.query(`alter table ${of} add constraint ${name} ${definition}`)
        await session.query(`delete from ${pendingKeys} where "of" = $1 and name = $2`, [of, name])
      }
    })
    added += part.length
    log(`Added foreign keys between distributed tables (${added} of ${rows.length}).`)
  }
}

async function distributeFunctions(session: pg.Client, tables: readonly string[]): Promise<void> {
  const { rows } = await session.query<{ signature: string }>(
    `select oid::regprocedure::text as signature from pg_proc
    where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
      and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e')
      and not exists (select from pg_dist_object where classid = 'pg_proc'::regclass and objid = pg_proc.oid)`,
  )
  for (const { signature } of rows) await session.query('select create_distributed_function($1)', [signature])
  const [table = 'none'] = tables
  await delegateCalls(session, table)
}

/** Calls are sent to the server with the records of their first argument. Citus does not copy the rights of a function. */
async function delegateCalls(session: pg.Client, table: string): Promise<void> {
  const signature = 'run_in_organization(uuid, text[], jsonb)'
  const { rows } = await session.query(
    `select create_distributed_function(objid::regprocedure, 'organization_id', colocate_with => $1,
      force_delegation => true)
    from pg_dist_object where classid = 'pg_proc'::regclass and distribution_argument_index is null
      and objid = to_regprocedure($2)`,
    [table, signature],
  )
  if (rows.length > 0) await session.query(`revoke execute on function ${signature} from public`)
}

const parts = <Item>(items: readonly Item[], size: number): Item[][] =>
  items.length === 0 ? [] : [items.slice(0, size), ...parts(items.slice(size), size)]

async function inTransaction(session: pg.Client, work: () => Promise<void>): Promise<void> {
  await session.query('begin')
  try {
    await work()
    await session.query('commit')
  } catch (error) {
    await session.query('rollback').catch(() => undefined)
    throw error
  }
}
