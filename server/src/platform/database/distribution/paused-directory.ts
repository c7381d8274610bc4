import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { connect } from '../connect.ts'
import { sqlState } from '../failures.ts'
import { distributedTables } from './distribute.ts'

/**
 * On Citus, each server has its snapshot, which begins at the first read there. One connection per server makes an
 * organization consistent. Writes to the directory wait until all have begun, so that it belongs to the same moment.
 */
export async function withPausedDirectory<Result>(
  client: pg.Client,
  { connection, tables }: { connection: pg.ClientConfig; tables: readonly string[] },
  beginSnapshot: () => Promise<Result>,
): Promise<Result> {
  const distributed = await distributedTables(client)
  const [example] = distributed
  if (example === undefined) return beginSnapshot()
  const directory = tables.filter((table) => !distributed.has(table)).map((table) => pg.escapeIdentifier(table))
  const session = await connect({ ...connection, application_name: 'rapport backup' })
  try {
    await lockWithRetry(session, `lock table ${directory.join(', ')} in share mode`)
    const begun = await beginSnapshot()
    await client.query('set local citus.max_adaptive_executor_pool_size = 1')
    await client.query(`select true from ${example} limit 1`)
    await session.query('commit')
    return begun
  } finally {
    await session.end()
  }
}

/** Shorter than deadlock_timeout, after which a waiting writer might fail. */
const limits = `set local lock_timeout = '500ms'; set local idle_in_transaction_session_timeout = '10s'`

async function lockWithRetry(session: pg.Client, statement: string): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      await session.query(`begin; ${limits}; ${statement}`)
      return
    } catch (error) {
      await session.query('rollback')
      if (sqlState(error) !== '55P03' || attempts === 40) throw error
      await delay(250)
    }
  }
}
