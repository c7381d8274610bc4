import type { Database } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { Perishable } from '../upkeep/store.ts'

/**
 * Where an attempt comes from: the browser that keeps the cookie of an earlier login, an address and program that the
 * account was logged in from, a session of the account's own, or anywhere else. Each has an allowance of its own, so that
 * none of them can be used up from another.
 */
export type AttemptSource = 'device' | 'familiar' | 'session' | 'stranger'

/** Whose failures count together: of one account from one source, and of one address from the same. */
export interface FailureKey {
  accountKey: Buffer
  address: string
  source: AttemptSource
}

/** When attempts failed, the latest first, in milliseconds since 1970. */
export interface Failures {
  ofAccount: number[]
  ofAddress: number[]
}

/** An attempt under way counts for its account, lest a hundred at once be one, and for no address: people share them. */
const underWay = ''

/** The failures that limit a new attempt, but for the attempt `except` itself. */
export async function findFailures(
  database: Database,
  { accountKey, address, source }: FailureKey,
  { at, except }: { at: Date; except: string },
): Promise<Failures> {
  const rows = await database.spanning<Failures>(
    'log in',
    sql`select
        array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
          where account_key = ${accountKey} and source = ${source} and id <> ${except}::uuid
            and failed_at > ${at}::timestamptz - interval '1 day'
          order by failed_at desc limit 50) as "ofAccount",
        array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
          where address = ${address} and source = ${source} and id <> ${except}::uuid
            and failed_at > ${at}::timestamptz - interval '1 hour'
          order by failed_at desc limit 100) as "ofAddress"`,
  )
  return rows[0] ?? { ofAccount: [], ofAddress: [] }
}

/** An attempt begins. */
export async function insertAttempt(
  database: Database,
  { id, accountKey, source, at }: Omit<FailureKey, 'address'> & { id: string; at: Date },
): Promise<void> {
  await database.spanning(
    'log in',
    sql`insert into login_failures (id, account_key, address, source, failed_at)
      values (${id}, ${accountKey}, ${underWay}, ${source}, ${at}) on conflict (id) do nothing`,
  )
}

/** The attempt failed. */
export async function keepFailure(database: Database, id: string, address: string): Promise<void> {
  await database.spanning('log in', sql`update login_failures set address = ${address} where id = ${id}::uuid`)
}

/** The attempt came to nothing. */
export async function removeAttempt(database: Database, id: string): Promise<void> {
  await database.spanning('log in', sql`delete from login_failures where id = ${id}::uuid`)
}

/**
 * The attempt succeeded: what failed before it on the person's own devices, or from the same address, was their own
 * mistyping. What others tried elsewhere still counts.
 */
export async function clearFailures(
  database: Database,
  id: string,
  { accountKey, address, source }: FailureKey,
): Promise<void> {
  await database.spanning(
    'log in',
    sql`delete from login_failures
      where id = ${id}::uuid
        or (account_key = ${accountKey} and source = ${source} and address <> ${underWay}
          and (${source !== 'stranger'} or address = ${address}))`,
  )
}

/** Failures that limit nobody any more. */
export const oldFailures: Perishable = {
  name: 'failed logins',
  table: 'login_failures',
  key: { id: 'uuid' },
  since: 'failed_at',
  keptSeconds: 24 * 60 * 60,
  isPersonal: true,
}
