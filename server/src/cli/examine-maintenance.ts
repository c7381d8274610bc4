import type pg from 'pg'
import type { Config } from '../config.ts'
import { retentionPolicies } from '../retention-policies.ts'
import { isRapportCommand } from '../platform/database/blocked-changes.ts'
import type { Engine } from '../platform/database/distribution/engine.ts'
import { engineOf } from '../platform/database/distribution/engines.ts'
import { overdueSql, type RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { formatCount, formatBounded, formatDuration } from './progress.ts'
import type { Check } from './examination.ts'
import type { Finding } from './finding.ts'

/** Thresholds of the doctor (docs/guides/self-hosting.md, "Database maintenance"). */
const thresholds = {
  transactionMinutes: 5,
  idleMinutes: 1,
  /** Share of dead rows, and the number of dead rows below which it does not matter. */
  dead: { share: 0.4, rows: 50_000 },
  /** Delay of the oldest waiting row. */
  lagSeconds: { note: 60, wrong: 15 * 60 },
  /** How long expired rows have been overdue for purging. */
  overdueHours: { note: 24, wrong: 7 * 24 },
}

const minute = 60
const hour = 60 * minute

/** Checks that background work keeps up: imports, purging, and cleaning up of tables. */
export const maintenanceChecks = (config: Config): readonly (readonly [string, Check])[] => [
  ['imports', async (client) => checkImports(client, await engineOf(client))],
  ['retention', (client) => checkRetention(client, config)],
  ['tables', async (client) => checkTables(client, await engineOf(client))],
]

/** Long-running and forgotten transactions. PostgreSQL cannot remove rows that became dead since they began. */
export async function checkTransactions(client: pg.Client): Promise<Finding> {
  const { rows } = await client.query<{ what: string; name: string; state: string; seconds: number }>(
    `select pid::text as what, application_name as name, state, extract(epoch from now() - xact_start)::int as seconds
     from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid() and (
       now() - xact_start > make_interval(mins => $1)
       or (state like 'idle in transaction%' and now() - state_change > make_interval(mins => $2)))
     union all
     select gid, owner, 'prepared', extract(epoch from now() - prepared)::int from pg_prepared_xacts
     where database = current_database() and now() - prepared > make_interval(mins => $1)
     order by seconds desc`,
    [thresholds.transactionMinutes, thresholds.idleMinutes],
  )
  const { transactionMinutes: open, idleMinutes: idle } = thresholds
  if (rows.length === 0) {
    const message = `none is older than ${open} minutes or idle for more than ${idle}`
    return { name: 'transactions', state: 'ok', message }
  }
  const listed = rows.map(
    ({ what, name, state, seconds }) => `${what} (${name || 'unnamed'}, ${state}, ${formatDuration(seconds)})`,
  )
  const message = `long-running: ${listed.join(', ')}`
  const others = rows.filter(({ name }) => !isRapportCommand(name))
  if (others.length === 0) {
    const advice = 'These belong to Rapport and end by themselves. Until then, they delay the clean-up of tables.'
    return { name: 'transactions', state: 'note', message, advice }
  }
  const end = others.map(({ what, state }) =>
    state === 'prepared' ? `rollback prepared '${what}';` : `select pg_terminate_backend(${what});`,
  )
  const advice = `They delay the clean-up of tables. End forgotten ones: ${end.join(' ')}`
  return { name: 'transactions', state: 'wrong', message, advice }
}

const isWaiting = `status in ('PENDING', 'RETRYING', 'PROCESSING')`

/** How far the processing of pushed rows is behind. */
async function checkImports(client: pg.Client, { isDistributed }: Engine): Promise<Finding> {
  const count = async (statement: string) => (await client.query<{ count: number }>(statement)).rows[0]?.count ?? 0
  const waiting = await count(
    `select count(*)::int as count from (select id from import_rows where ${isWaiting} limit 1000001) waiting`,
  )
  const dead = await count(`select coalesce(sum(change), 0)::int as count from import_row_counts where status = 'DEAD'`)
  const lag = await (isDistributed ? findLagInShards(client) : findImportLag(client))
  const name = 'imports'
  const late = lag >= 1 ? `, the oldest overdue by ${formatDuration(lag)}` : ''
  const message = `${formatBounded(waiting, 1_000_000)} rows waiting${late}; ${formatCount(dead)} dead`
  if (lag > thresholds.lagSeconds.note) {
    const state = lag > thresholds.lagSeconds.wrong ? 'wrong' : 'note'
    const advice =
      'Check that a service with ROLE=work or ROLE=all, and IMPORT_WORKERS above 0, is running. More workers process more organizations at once.'
    return { name, state, message, advice }
  }
  if (dead === 0) return { name, state: 'ok', message }
  const advice =
    'List them with GET /v5/imports/{importId}/rows?status=DEAD. Each row shows its errors and can be retried.'
  return { name, state: 'note', message, advice }
}

/** Seconds that the oldest waiting row is overdue. Reads the first one of each organization, from the queue's index. */
async function findImportLag(client: pg.Client): Promise<number> {
  let longest = 0
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const { rows } = await client.query<{ organization: string; lag: number }>(
      `select organization_id as organization, extract(epoch from now() - run_at)::float8 as lag from import_rows
       where ${isWaiting} and organization_id > $1 order by organization_id, run_at limit 1`,
      [after],
    )
    const [first] = rows
    if (!first) return longest
    longest = Math.max(longest, first.lag)
    after = first.organization
  }
}

/** Reads all waiting rows of the shards, which are visited only once. */
async function findLagInShards(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ lag: number | null }>(
    `select extract(epoch from now() - min(run_at))::float8 as lag from import_rows where ${isWaiting}`,
  )
  return rows[0]?.lag ?? 0
}

/** Rows that should have been purged already. */
async function checkRetention(client: pg.Client, config: Config): Promise<Finding> {
  const overdue: string[] = []
  let longest = 0
  for (const policy of retentionPolicies(config)) {
    const { waiting, seconds } = await overdueOf(client, policy)
    if (waiting === 0) continue
    overdue.push(`${formatBounded(waiting, 10_000)} of ${policy.name} for ${formatDuration(seconds)}`)
    longest = Math.max(longest, seconds)
  }
  const name = 'retention'
  if (overdue.length === 0) return { name, state: 'ok', message: 'no data is stored longer than it should be' }
  const message = `overdue for purging: ${overdue.join(', ')}`
  const { note, wrong } = thresholds.overdueHours
  if (longest < note * hour) return { name, state: 'ok', message }
  const advice =
    'A running service purges automatically; its log shows failures. Records that are still needed stay: a deleted import with waiting rows, a deleted team with contacts.'
  return { name, state: longest < wrong * hour ? 'note' : 'wrong', message, advice }
}

async function overdueOf(client: pg.Client, policy: RetentionPolicy): Promise<{ waiting: number; seconds: number }> {
  const { text, values } = overdueSql(policy).render()
  const { rows } = await client.query<{ count: number; seconds: number }>(text, values)
  return { waiting: rows[0]?.count ?? 0, seconds: rows[0]?.seconds ?? 0 }
}

interface Table {
  name: string
  dead: number
  rows: number
  cleaned: number | null
}

const tablesSql = `
  select relname as name, n_dead_tup::float8 as dead, (n_live_tup + n_dead_tup)::float8 as rows,
    extract(epoch from now() - greatest(last_autovacuum, last_vacuum))::float8 as cleaned
  from pg_stat_user_tables where schemaname = any(current_schemas(false)) order by n_dead_tup desc limit 100`

/** Dead rows that autovacuum has not removed yet, as PostgreSQL estimates them. */
async function checkTables(client: pg.Client, engine: Engine): Promise<Finding> {
  const { rows: tables } = await client.query<Table>(engine.deadRowsOnServers(tablesSql))
  const { rows } = await client.query<{ size: string }>(`select pg_size_pretty(${engine.sizeSql}) as size`)
  const name = 'tables'
  const size = `${rows[0]?.size ?? 'unknown size'} in total`
  const bloated = tables.filter(
    ({ dead, rows: all }) => dead > thresholds.dead.rows && dead > all * thresholds.dead.share,
  )
  if (bloated.length === 0) {
    const [worst] = tables
    return { name, state: 'ok', message: worst ? `${size}; most dead rows: ${describeTable(worst)}` : size }
  }
  return {
    name,
    state: 'note',
    message: `${size}; many dead rows: ${bloated.map(describeTable).join('; ')}`,
    advice: `Check that autovacuum is on and not delayed (see transactions). To clean up manually: ${bloated.map((table) => `vacuum (analyze) ${table.name};`).join(' ')}`,
  }
}

const describeTable = ({ name, dead, rows, cleaned }: Table): string =>
  `${name} ${formatCount(dead)} of ${formatCount(rows)}, ${cleaned === null ? 'never cleaned up' : `cleaned up ${formatDuration(cleaned)} ago`}`
