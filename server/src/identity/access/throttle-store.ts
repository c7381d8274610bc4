import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/maintenance/retention-store.ts'

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
const inProgress = ''

/** One attempt to prove who one is. */
export interface RecordedAttempt extends FailureKey {
  id: string
  at: Date
}

/** So many failures of an account in a day, or of an address in an hour, limit nothing yet. */
export const toleratedFailures = { account: 9, address: 19 }

interface CheckedFailures extends Failures {
  /** There are too few to limit anything, so what depended on that is done. */
  areFew: boolean
}

/** The failures that limit this attempt. */
const failuresSql = ({ id, accountKey, address, source, at }: RecordedAttempt) => sql`
  select "ofAccount", "ofAddress", cardinality("ofAccount") <= ${toleratedFailures.account}::integer
    and cardinality("ofAddress") <= ${toleratedFailures.address}::integer as "areFew"
  from (select
    array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
      where account_key = ${accountKey} and source = ${source} and id <> ${id}::uuid
        and failed_at > ${at}::timestamptz - interval '1 day'
      order by failed_at desc limit 50) as "ofAccount",
    array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
      where address = ${address} and source = ${source} and id <> ${id}::uuid
        and failed_at > ${at}::timestamptz - interval '1 hour'
      order by failed_at desc limit 100) as "ofAddress") failures`

const noFailures: CheckedFailures = { ofAccount: [], ofAddress: [], areFew: true }

/** The failures that limit this attempt by now. */
export async function findFailures(database: Database, attempt: RecordedAttempt): Promise<Failures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>('log in', failuresSql(attempt))
  return found
}

/** The failures that limit the attempt; it begins with this statement where there are few. */
export async function beginAttemptIfTolerated(database: Database, attempt: RecordedAttempt): Promise<CheckedFailures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>(
    'log in',
    sql`with found as (${failuresSql(attempt)}), begun as (${insertSql(attempt)} from found where "areFew"
      on conflict (id) do nothing)
      select * from found`,
  )
  return found
}

/** An attempt begins. */
export async function beginAttempt(database: Database, attempt: RecordedAttempt): Promise<void> {
  await database.crossTenantQuery('log in', sql`${insertSql(attempt)} on conflict (id) do nothing`)
}

const insertSql = ({ id, accountKey, source, at }: RecordedAttempt) => sql`
  insert into login_failures (id, account_key, address, source, failed_at)
  select ${id}::uuid, ${accountKey}::bytea, ${inProgress}, ${source}, ${at}::timestamptz`

/** The attempt failed. */
export async function storeFailure(database: Database, id: string, address: string): Promise<void> {
  await database.crossTenantQuery('log in', sql`update login_failures set address = ${address} where id = ${id}::uuid`)
}

/** The attempt came to nothing. */
export async function removeAttempt(database: Database, id: string): Promise<void> {
  await database.crossTenantQuery('log in', sql`delete from login_failures where id = ${id}::uuid`)
}

/**
 * The attempt succeeded: what failed before it on the person's own devices, or from the same address, was their own
 * mistyping. What others tried elsewhere still counts.
 */
export async function clearFailures(database: Database, attempt: RecordedAttempt): Promise<void> {
  await database.crossTenantQuery('log in', deleteSql(attempt))
}

/** The failures that limit the attempt, which succeeded; they are cleared with this statement where there are few. */
export async function clearFailuresIfTolerated(database: Database, attempt: RecordedAttempt): Promise<CheckedFailures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>(
    'log in',
    sql`with found as (${failuresSql(attempt)}), cleared as (${deleteSql(attempt)} and (select "areFew" from found))
      select * from found`,
  )
  return found
}

const deleteSql = ({ id, accountKey, address, source }: RecordedAttempt) => sql`
  delete from login_failures
  where (id = ${id}::uuid
    or (account_key = ${accountKey} and source = ${source} and address <> ${inProgress}
      and (${source !== 'stranger'} or address = ${address})))`

/** Failures that limit nobody any more. */
export const expiredLoginFailures: RetentionPolicy = {
  name: 'failed logins',
  table: 'login_failures',
  key: { id: 'uuid' },
  since: 'failed_at',
  ttlSeconds: 24 * 60 * 60,
  isPersonal: true,
}
