import pg from 'pg'
import type { Database } from '../src/platform/database/database.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { identifier, raw, type Sql, sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'
import { backgroundName } from './service.ts'
import { describeTemplate, isSentIn, type SqlTemplate, sqlTemplates } from './source-statements.ts'

/** What another transaction does while a request waits for the lock that it holds. */
export interface Held {
  lock: Sql
  meanwhile: Sql
}

/** Locks the record with this id of the API, as a change of it does. */
export const lockOf = (table: string, id: string, mode = 'for update'): Sql =>
  sql`select from ${identifier(table)} where id = ${uuidOf(id)} ${raw(mode)}`

/** An id of the API as the database has it. */
export const uuidOf = (id: string): Sql => sql`${decodeId(id.slice(0, id.indexOf('_')), id)}::uuid`

/**
 * Holds locks in SQL until a request waits for them, so that chance plays no part: without its own lock, the request does
 * not wait, or it continues with what it read before it waited.
 */
export interface HeldLocks {
  whileHeld<Result>(held: Held, send: () => Promise<Result>): Promise<Result>
  /** The locks in the source files at these paths for which no request has waited. */
  untested(paths: RegExp): string[]
  restore(): void
}

export function createHeldLocks(database: () => Database): HeldLocks {
  const original = pg.Client.prototype.query
  const sent = new Set<string>()
  pg.Client.prototype.query = function (this: pg.Client, given: string | pg.QueryConfig, ...rest: unknown[]) {
    sent.add(typeof given === 'string' ? given : given.text)
    return Reflect.apply(original, this, [given, ...rest])
  } as typeof original
  /** The beginnings of the statements that have waited. */
  const waited = new Set<string>()

  /** Not in the transaction that holds the lock, which would always see the same; and not those of background work. */
  async function findWaiting(): Promise<string[]> {
    const rows = await database().crossTenantQuery<{ query: string }>(
      'check the database',
      sql`select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and application_name <> ${backgroundName}`,
    )
    return rows.map(({ query }) => query)
  }

  return {
    async whileHeld({ lock, meanwhile }, send) {
      let sending: ReturnType<typeof send> | undefined
      await database().crossTenantTransaction('check the database', async (db) => {
        await db.query(lock)
        sending = send()
        sending.catch(() => undefined)
        await until('the request waits for the lock', async () => (await findWaiting()).length > 0, 5000)
        for (const query of await findWaiting()) waited.add(query)
        await db.query(meanwhile)
      })
      if (!sending) throw new Error('nothing was sent')
      return sending
    },
    untested(paths) {
      const texts = [...sent].filter((text) => [...waited].some((beginning) => text.startsWith(beginning)))
      return locksIn(paths)
        .filter((lock) => !texts.some((text) => isSentIn(text, lock)))
        .map(describeTemplate)
    },
    restore: () => void (pg.Client.prototype.query = original),
  }
}

const locking = /^[^]* for (?:(?:no key )?update|(?:key )?share)\b/

/** The templates of SQL with a lock, up to their last one. */
const locksIn = (paths: RegExp): SqlTemplate[] =>
  sqlTemplates(paths, /for (?:no key )?update|for (?:key )?share/).flatMap(({ path, text }) => {
    const [found] = locking.exec(text) ?? []
    return found === undefined ? [] : { path, text: found }
  })
