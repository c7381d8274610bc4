import type { Caller } from '../../platform/model/caller.ts'
import type { Database, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import { prepared, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import type { Language } from '../../platform/model/languages.ts'

export interface StoredUser {
  id: string
  passwordHash: string | null
}

/** The user with this address, in any organization. */
export async function findUserByEmail(database: Database, email: string): Promise<StoredUser | undefined> {
  const rows = await database.crossTenantQuery<StoredUser>(
    'create an organization',
    sql`select id, password_hash as "passwordHash" from users where email_key = ${emailKey(email)}`,
  )
  return rows[0]
}

export async function insertUser(
  db: CrossTenantConnection,
  user: {
    id: string
    email: string
    name: string
    passwordHash: string | null
    isVerified?: boolean
    /** Undefined for the time zone of each organization. */
    timeZone?: string | undefined
    /** That of the page on which the account was created. */
    language?: Language | undefined
  },
): Promise<void> {
  const { id, email, name, passwordHash, isVerified = false, timeZone = null, language = null } = user
  await db.query(
    sql`insert into users (id, email, email_key, name, password_hash, time_zone, language, verified_at)
      values (${id}, ${email}, ${emailKey(email)}, ${name}, ${passwordHash}, ${timeZone}, ${language}, case when ${isVerified}::boolean then now() end)`,
  )
}

/** The credential of the request, as a row. */
const credentialOf = (caller: Caller): Sql => {
  const scopes = sql`${caller.scopes}::text[] as scopes`
  const end = (table: string) => sql`to_char(${raw(table)}.expires_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "expiresAt"`
  return caller.kind === 'key'
    ? sql`select 'key' as kind, 'key_' || replace(key.id::text, '-', '') as id, key.name, ${scopes}, ${end('key')}
        from api_keys key
        where key.organization_id = ${caller.organizationId}::uuid and key.id = ${caller.credentialId}::uuid`
    : sql`select 'session' as kind, 'session_' || replace(session.id::text, '-', '') as id, null::text as name, ${scopes},
          ${end('session')}
        from sessions session where session.id = ${caller.credentialId}::uuid`
}

/**
 * The caller's profile as JSON. With a session: the user with all their organizations. With an API key: the key's
 * creator with only the key's organization, with role `none` if the creator has left it.
 */
export async function profile(database: Database, caller: Caller): Promise<string> {
  const memberships =
    caller.kind === 'session'
      ? sql`select organizations.id, organizations.name, members.role
          from members join organizations on organizations.id = members.organization_id
          where members.user_id = ${caller.userId}::uuid`
      : sql`select organizations.id, organizations.name, coalesce(members.role, 'none') as role
          from organizations left join members
            on members.organization_id = organizations.id and members.user_id = ${caller.userId}::uuid
          where organizations.id = ${caller.organizationId}::uuid`
  const rows = await database.crossTenantQuery<{ live: boolean; text: string | null }>(
    'read the profile of a user',
    sql`select ${caller.live} as live, (
        select row_to_json(profile)::text from (
          select 'usr_' || replace(users.id::text, '-', '') as id, users.email, users.name,
            users.time_zone as "timeZone", users.language, 'org_' || replace(${caller.organizationId}, '-', '') as "organizationId", (
            select coalesce(json_agg(row_to_json(organization)), '[]') from (
              select 'org_' || replace(membership.id::text, '-', '') as id, membership.name, membership.role
              from (${memberships}) membership order by membership.id
            ) organization
          ) as organizations, (
            select row_to_json(credential) from (${credentialOf(caller)}) credential
          ) as credential
          from users where users.id = ${caller.userId}::uuid
        ) profile
      ) as text`,
  )
  const text = rows[0]?.live ? rows[0].text : null
  if (text === null) throw new CredentialChanged()
  return text
}

/** A day in the time zone of a member (uuid), or of the organization if there is no such member. */
export interface LocalDay {
  id: string
  day: string | null
  userId: string | null
}

export type LocalDays = ReadonlyMap<string, { timeZone: string; end: string | null }>

/** The time zones of these days, and the instants when they end, as in the API; by id. */
export async function findLocalDays(transaction: Transaction, days: readonly LocalDay[]): Promise<LocalDays> {
  if (days.length === 0) return new Map()
  const rows = await transaction.query<{ id: string; timeZone: string; end: string | null }>(
    prepared(sql`
    with zoned as (
      select wanted.id, wanted.day, coalesce(users.time_zone, organizations.time_zone) as time_zone
      from jsonb_to_recordset(${JSON.stringify(days)}::jsonb) as wanted(id uuid, day date, "userId" uuid)
      join organizations on organizations.id = ${transaction.organization}
      left join members on members.organization_id = ${transaction.organization} and members.user_id = wanted."userId"
      left join users on users.id = members.user_id)
    select id, time_zone as "timeZone", case when day is not null then to_char(
      least((day + 1)::timestamp at time zone time_zone, timestamptz '9999-12-31 23:59:59.999Z'),
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end as "end"
    from zoned`),
  )
  return new Map(rows.map(({ id, ...found }) => [id, found]))
}
