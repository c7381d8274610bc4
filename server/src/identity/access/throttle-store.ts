import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'

/**
 * Where an attempt comes from: a browser with the cookie of an earlier login (`device`), an address and program that
 * have logged in before (`familiar`), a session of the account, or anywhere else. Each has a separate allowance, so
 * that one cannot use up another's.
 */
export type AttemptSource = 'device' | 'familiar' | 'session' | 'stranger'

/** Failures are counted per account and source, and per address and source. */
export interface FailureKey {
  accountKey: Buffer
  address: string
  source: AttemptSource
}

/** Times of failed attempts, latest first, in milliseconds since 1970. */
export interface Failures {
  ofAccount: number[]
  ofAddress: number[]
}

/**
 * The address of an attempt in progress: it counts for its account, so that parallel attempts are limited, but for no
 * address, because people share addresses.
 */
const inProgress = ''

/** An authentication attempt, as stored. */
export interface RecordedAttempt extends FailureKey {
  id: string
  at: Date
}

/** Failures of an account in a day, and of an address in an hour, that have no consequences yet. */
export const toleratedFailures = { account: 9, address: 19 }

interface CheckedFailures extends Failures {
  /** The failures are within the tolerance, so the conditional change was made. */
  isTolerated: boolean
}

/** The failures that count against this attempt. */
const failuresSql = ({ id, accountKey, address, source, at }: RecordedAttempt) => sql`
  select "ofAccount", "ofAddress", cardinality("ofAccount") <= ${toleratedFailures.account}::integer
    and cardinality("ofAddress") <= ${toleratedFailures.address}::integer as "isTolerated"
  from (select
    array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
      where account_key = ${accountKey} and source = ${source} and id <> ${id}::uuid
        and failed_at > ${at}::timestamptz - interval '1 day'
      order by failed_at desc limit 50) as "ofAccount",
    array(select (extract(epoch from failed_at) * 1000)::float8 from login_failures
      where address = ${address} and source = ${source} and id <> ${id}::uuid
        and failed_at > ${at}::timestamptz - interval '1 hour'
      order by failed_at desc limit 100) as "ofAddress") failures`

const noFailures: CheckedFailures = { ofAccount: [], ofAddress: [], isTolerated: true }

/** The failures that count against this attempt now. */
export async function findFailures(database: Database, attempt: RecordedAttempt): Promise<Failures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>('log in', failuresSql(attempt))
  return found
}

/** The failures that count against the attempt; within the tolerance, the same statement begins the attempt. */
export async function beginAttemptIfTolerated(database: Database, attempt: RecordedAttempt): Promise<CheckedFailures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>(
    'log in',
    sql`with found as (${failuresSql(attempt)}), begun as (${insertSql(attempt)} from found where "isTolerated"
      on conflict (id) do nothing)
      select * from found`,
  )
  return found
}

export async function beginAttempt(database: Database, attempt: RecordedAttempt): Promise<void> {
  await database.crossTenantQuery('log in', sql`${insertSql(attempt)} on conflict (id) do nothing`)
}

const insertSql = ({ id, accountKey, source, at }: RecordedAttempt) => sql`
  insert into login_failures (id, account_key, address, source, failed_at)
  select ${id}::uuid, ${accountKey}::bytea, ${inProgress}, ${source}, ${at}::timestamptz`

/** Turns the attempt in progress into a failure. */
export async function storeFailure(database: Database, id: string, address: string): Promise<void> {
  await database.crossTenantQuery('log in', sql`update login_failures set address = ${address} where id = ${id}::uuid`)
}

/** Removes an attempt that neither succeeded nor failed. */
export async function removeAttempt(database: Database, id: string): Promise<void> {
  await database.crossTenantQuery('log in', sql`delete from login_failures where id = ${id}::uuid`)
}

/**
 * After a success, earlier failures on the person's own devices or from the same address were their own typing errors
 * and are cleared. Failures from elsewhere still count.
 */
export async function clearFailures(database: Database, attempt: RecordedAttempt): Promise<void> {
  await database.crossTenantQuery('log in', deleteSql(attempt))
}

/** The failures that count against a successful attempt; within the tolerance, the same statement clears them. */
export async function clearFailuresIfTolerated(database: Database, attempt: RecordedAttempt): Promise<CheckedFailures> {
  const [found = noFailures] = await database.crossTenantQuery<CheckedFailures>(
    'log in',
    sql`with found as (${failuresSql(attempt)}), cleared as (${deleteSql(attempt)} and (select "isTolerated" from found))
      select * from found`,
  )
  return found
}

const deleteSql = ({ id, accountKey, address, source }: RecordedAttempt) => sql`
  delete from login_failures
  where (id = ${id}::uuid
    or (account_key = ${accountKey} and source = ${source} and address <> ${inProgress}
      and (${source !== 'stranger'} or address = ${address})))`

/** Failures that no longer count. */
export const expiredLoginFailures: RetentionPolicy = {
  name: 'failed logins',
  table: 'login_failures',
  key: { id: 'uuid' },
  since: 'failed_at',
  ttlSeconds: 24 * 60 * 60,
  isPersonal: true,
}
