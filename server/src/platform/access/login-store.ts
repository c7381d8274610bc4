import { createHash, randomBytes } from 'node:crypto'
import type { Spanning } from '../database/database.ts'
import { type Sql, sql } from '../database/sql.ts'
import type { Perishable } from '../upkeep/store.ts'
import { newId } from '../resource/ids.ts'

/** Seconds within which the second factor has to follow the password, and how many wrong ones it may take. */
const pendingSeconds = 600
const mostFailures = 5

const shape = /^pnd_[A-Za-z0-9_-]{43}$/

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** A login whose password was right; the ids are uuids. */
export interface PendingLogin {
  id: string
  userId: string
  wantsCookie: boolean
}

/** Remembers that the password was right, and gives the token that the second step needs. */
export async function beginPendingLogin(
  spanning: Spanning,
  { userId, wantsCookie }: { userId: string; wantsCookie: boolean },
): Promise<string> {
  const text = `pnd_${randomBytes(32).toString('base64url')}`
  await spanning.query(sql`
    insert into pending_logins (id, hash, user_id, wants_cookie, expires_at)
    values (${newId()}, ${hashOf(text)}, ${userId}, ${wantsCookie}, now() + make_interval(secs => ${pendingSeconds}))`)
  return text
}

/** The login of this token, locked until the transaction ends; undefined when it is over or has failed too often. */
export async function lockPendingLogin(spanning: Spanning, text: string): Promise<PendingLogin | undefined> {
  if (!shape.test(text)) return undefined
  const [row] = await spanning.query<PendingLogin>(sql`
    select id, user_id as "userId", wants_cookie as "wantsCookie" from pending_logins
    where hash = ${hashOf(text)} and expires_at > now() and failures < ${mostFailures} for update`)
  return row
}

/** Counts a wrong second factor. Has to be committed: give the refusal out of the transaction as a value. */
export async function failPendingLogin(spanning: Spanning, id: string): Promise<void> {
  await spanning.query(sql`update pending_logins set failures = failures + 1 where id = ${id}::uuid`)
}

/** The login is complete: its token is good no more. */
export async function endPendingLogin(spanning: Spanning, id: string): Promise<void> {
  await spanning.query(sql`delete from pending_logins where id = ${id}::uuid`)
}

/** Where a request comes from, as an account may know it. */
export interface Device {
  deviceHash: Buffer | null
  address: string
  userAgent: string | null
}

/** Is a row of `sessions` one that was used within 30 days, and by this browser, or from this address by this program? */
export const isKnownBy = ({ deviceHash, address, userAgent }: Device): { cookie: Sql; place: Sql } => {
  const isRecent = sql`sessions.last_used_at > now() - interval '30 days'`
  return {
    cookie: sql`(${isRecent} and sessions.device_hash = ${deviceHash}::bytea)`,
    place: sql`(${isRecent} and sessions.address = ${address}::text
      and sessions.user_agent is not distinct from ${userAgent}::text)`,
  }
}

/** Does the person (uuid) use this device? */
export async function isKnownDevice(spanning: Spanning, userId: string, device: Device): Promise<boolean> {
  const { cookie, place } = isKnownBy(device)
  const [row] = await spanning.query<{ isKnown: boolean }>(sql`
    select exists (select from sessions where user_id = ${userId}::uuid and (${cookie} or ${place})) as "isKnown"`)
  return row?.isKnown ?? false
}

/** Writes down that the person logs in; was it not for the first time? Undefined when they were disabled. */
export async function noteLogin(spanning: Spanning, userId: string): Promise<boolean | undefined> {
  const [row] = await spanning.query<{ again: boolean }>(sql`
    with before as (select id, last_login_at from users where id = ${userId}::uuid and disabled_at is null for update)
    update users set last_login_at = now() from before where users.id = before.id
    returning before.last_login_at is not null as again`)
  return row?.again
}

/** Logins that were never completed. */
export const lapsedLogins: Perishable = {
  name: 'pending logins',
  table: 'pending_logins',
  key: { id: 'uuid' },
  since: 'expires_at',
  keptSeconds: 0,
  isPersonal: true,
}
