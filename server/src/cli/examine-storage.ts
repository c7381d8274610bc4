import type pg from 'pg'
import { formatCount } from './progress.ts'
import type { Finding } from './finding.ts'

/** Reports damaged pages that PostgreSQL has found by their checksums. */
export async function examineChecksums(client: pg.Client): Promise<Finding> {
  const name = 'checksums'
  const { rows } = await client.query<{ failures: number | null; last: Date | null }>(
    `select checksum_failures::int as failures, checksum_last_failure as last from pg_stat_database
     where datname = current_database()`,
  )
  const { failures = null, last } = rows[0] ?? {}
  if (failures === null) return { name, state: 'ok', message: 'off: PostgreSQL does not notice damaged pages' }
  if (failures === 0) return { name, state: 'ok', message: 'PostgreSQL has found no damaged page' }
  return {
    name,
    state: 'wrong',
    message: `PostgreSQL has read damaged pages ${formatCount(failures)} times, the last time at ${last?.toISOString()}`,
    advice:
      'Requests that need them get 503 `data_damaged`. Copy the data folder, check the disk (`dmesg`), and restore the latest backup (docs/guides/troubleshooting.md, "Damaged data").',
  }
}

/** Milliseconds by which the clocks may differ before tokens and timestamps become wrong. */
const clockTolerance = 2000

/** Compares the clocks, and the newest event of the audit log with now: a time in the future shows a wrong clock. */
export async function examineClocks(client: pg.Client): Promise<Finding> {
  const name = 'clocks'
  const before = Date.now()
  const { rows } = await client.query<{ now: number }>('select extract(epoch from clock_timestamp()) * 1000 as now')
  const skew = Math.round(Number(rows[0]?.now) - (before + Date.now()) / 2)
  const message = `the database's clock is ${Math.abs(skew)} ms ${skew < 0 ? 'behind' : 'ahead'}; here it is ${new Date(before).toISOString()}`
  if (Math.abs(skew) > clockTolerance)
    return { name, state: 'wrong', message, advice: 'Synchronize the clocks of both machines with NTP.' }
  const newest = await newestEvent(client)
  if (newest === undefined || newest.getTime() <= before + clockTolerance) return { name, state: 'ok', message }
  return {
    name,
    state: 'wrong',
    message: `${message}, but the audit log has an event of ${newest.toISOString()}`,
    advice:
      'The clock is wrong now, or was wrong then. Synchronize it with NTP (`timedatectl`): logins, links and limits depend on the time.',
  }
}

/** The newest event of the first organization, which an index finds. */
async function newestEvent(client: pg.Client): Promise<Date | undefined> {
  const { rows: tables } = await client.query<{ found: string | null }>(`select to_regclass('audit_events') as found`)
  if (!tables[0]?.found) return undefined
  const { rows: first } = await client.query<{ id: string }>('select id from organizations order by created_at limit 1')
  const { rows } = await client.query<{ at: Date | null }>(
    'select max(created_at) as at from audit_events where organization_id = $1',
    [first[0]?.id],
  )
  return rows[0]?.at ?? undefined
}
