import { recentAuthenticationSeconds } from '../access/account-store.ts'
import type { MemberRole } from '../../platform/model/scopes.ts'
import type { Connection, Database, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { identifier, join, prepared, raw, sql } from '../../platform/model/sql.ts'
import { columnOf } from '../../platform/records/declare/define.ts'
import { recordFirstRecords } from '../../platform/records/write/events.ts'
import { teams } from '../teams/resource.ts'
import { insertMember, revokeOpenLinks } from '../members/store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Adds what every organization starts with, to an organization (uuid) that is being created. */
export type AddFirstRecords = (db: CrossTenantConnection, organizationId: string) => Promise<void>

/** A new organization with its default team, its first owner and its first records. */
export async function insertOrganization(
  db: CrossTenantConnection,
  organization: {
    id: string
    name: string
    slug: string
    timeZone?: string | undefined
    teamId: string
    ownerId: string
  },
  addFirstRecords: AddFirstRecords,
): Promise<void> {
  const { id, name, slug, timeZone = 'UTC', teamId, ownerId } = organization
  await db.query(
    sql`insert into organizations (id, name, slug, time_zone) values (${id}, ${name}, ${slug}, ${timeZone})`,
  )
  await db.query(
    sql`insert into teams (organization_id, id, name, is_default) values (${id}, ${teamId}, 'Default team', true)`,
  )
  await recordFirstRecords(db, id, teams)
  await insertMember(db, { organizationId: id, userId: ownerId, role: 'owner' }, [{ id: teamId }])
  await revokeOpenLinks(db, { organization: sql`${id}::uuid`, userId: ownerId })
  await addFirstRecords(db, id)
}

/** Whether the slug is already used. */
export async function hasSlug(database: Database, slug: string): Promise<boolean> {
  const rows = await database.crossTenantQuery(
    'create an organization',
    sql`select from organizations where slug = ${slug}`,
  )
  return rows.length > 0
}

/** The ids (uuids) of the next organizations after one, in their order. */
export async function findOrganizationIds(
  database: Database,
  after = '00000000-0000-0000-0000-000000000000',
  limit: number,
): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ id: string }>(
    'refresh renderings',
    sql`select id from organizations where id > ${after}::uuid order by id limit ${limit}`,
  )
  return rows.map(({ id }) => id)
}

export interface FoundOrganization {
  id: string
  name: string
  /** Found by its id or slug, which are unique; a name is not. */
  isExact: boolean
  /** The longest-standing owner. */
  ownerId: string | null
  /** When it will be deleted. */
  deletesAt: Date | null
}

/** The organizations with this id, slug or name; an exact match comes first. */
export const findOrganizations = (
  database: Database,
  { id = null, text }: { id: string | null | undefined; text: string },
): Promise<FoundOrganization[]> =>
  database.crossTenantQuery(
    'find the organization of a command',
    sql`select organizations.id, organizations.name,
        (organizations.id = ${id}::uuid) is true or slug = ${text} as "isExact",
        (select user_id from members
          where members.organization_id = organizations.id and members.role = 'owner'
          order by members.created_at, members.user_id limit 1) as "ownerId",
        deletes_at as "deletesAt"
      from organizations
      where organizations.id = ${id}::uuid or slug = ${text} or fold(name) = fold(${text})
      order by "isExact" desc, organizations.id`,
  )

/** The ISO 4217 code that new amounts have. */
export async function readDefaultCurrency(db: Connection): Promise<string> {
  const [row] = await db.query<{ currency: string }>(
    prepared(sql`select default_currency as currency from organizations where id = ${db.organization}`),
  )
  if (!row) throw new Error('the caller’s organization does not exist')
  return row.currency
}

/** The IANA time zone of the organization. */
export async function readTimeZone(db: Connection): Promise<string> {
  const [row] = await db.query<{ zone: string }>(
    prepared(sql`select time_zone as zone from organizations where id = ${db.organization}`),
  )
  if (!row) throw new Error('the caller’s organization does not exist')
  return row.zone
}

/** The organization as response JSON. */
export async function readOrganization(db: Connection): Promise<string> {
  const [row] = await db.query<{ text: string }>(sql`
    select json_build_object('id', 'org_' || replace(id::text, '-', ''), 'name', name, 'slug', slug, 'timeZone', time_zone,
      'defaultCurrency', default_currency, 'requiresSecondFactor', requires_second_factor,
      'createdAt', ${instantSql('created_at')}, 'updatedAt', ${instantSql('updated_at')})::text as text
    from organizations where id = ${db.organization}`)
  if (!row) throw new Error('the caller’s organization does not exist')
  return row.text
}

const instantSql = (column: string) => sql`to_char(${identifier(column)}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Changes the given fields, and returns the names of those whose value differs. */
export async function updateOrganization(transaction: Transaction, values: JsonObject): Promise<string[]> {
  const names = Object.keys(values)
  if (names.length === 0) return []
  const before = JSON.parse(await lockOrganization(transaction)) as JsonObject
  const changed = names.filter((name) => before[name] !== values[name])
  if (changed.length === 0) return []
  const sets = changed.map((name) => sql`${identifier(columnOf(name))} = ${values[name]}`)
  await transaction.query(sql`
    update organizations set ${join([...sets, raw('updated_at = now()')], ', ')} where id = ${transaction.organization}`)
  return changed
}

async function lockOrganization(transaction: Transaction): Promise<string> {
  await transaction.query(sql`select id from organizations where id = ${transaction.organization} for no key update`)
  return readOrganization(transaction)
}

/** What a setting that only owners can change depends on. */
export interface AuthenticationStatus {
  role: MemberRole | null
  hasRecentAuthentication: boolean
  isStrong: boolean
}

/** The status of the person (uuid) in this organization and of their session (uuid). */
export async function findAuthenticationStatus(
  transaction: Transaction,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<AuthenticationStatus> {
  const [row] = await transaction.query<AuthenticationStatus>(sql`
    select members.role, proved_at > now() - make_interval(secs => ${recentAuthenticationSeconds}) as "hasRecentAuthentication",
      second_factor_at is not null as "isStrong"
    from sessions left join members
      on members.organization_id = ${transaction.organization} and members.user_id = ${userId}::uuid
    where sessions.id = ${sessionId}::uuid`)
  return row ?? { role: null, hasRecentAuthentication: false, isStrong: false }
}

/** One of a person's organizations as response JSON; undefined if they are not a member. */
export async function readMembership(
  db: CrossTenantConnection,
  { organizationId, userId }: { organizationId: string; userId: string },
): Promise<string | undefined> {
  const [row] = await db.query<{ text: string }>(sql`
    select json_build_object('id', 'org_' || replace(organizations.id::text, '-', ''), 'name', name, 'slug', slug,
      'role', role)::text as text
    from members join organizations on organizations.id = members.organization_id
    where members.organization_id = ${organizationId}::uuid and members.user_id = ${userId}::uuid`)
  return row?.text
}

/** The person's organizations as response JSON, oldest first; ids are uuids. */
export async function readMemberships(
  db: CrossTenantConnection,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<string> {
  const [row] = await db.query<{ text: string }>(sql`
    select coalesce(json_agg(json_build_object('id', 'org_' || replace(organizations.id::text, '-', ''), 'name', name,
      'slug', slug, 'role', role, 'isCurrent', organizations.id is not distinct from sessions.organization_id,
      'deletesAt', ${instantSql('deletes_at')})
      order by organizations.id), '[]')::text as text
    from members join organizations on organizations.id = members.organization_id
      join sessions on sessions.id = ${sessionId}::uuid
    where members.user_id = ${userId}::uuid`)
  return row?.text ?? '[]'
}

/** How many organizations the person owns, those that are being deleted included; locks the person. */
export async function countOwned(db: CrossTenantConnection, userId: string): Promise<number> {
  await db.query(sql`select from users where id = ${userId}::uuid for no key update`)
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::integer as count from members where user_id = ${userId}::uuid and role = 'owner'`)
  return row?.count ?? 0
}

/** Makes the organization (uuid) the session's current one; with `onlyIfNone`, only if it has none. */
export async function chooseOrganization(
  db: CrossTenantConnection,
  {
    sessionId,
    organizationId,
    onlyIfNone = false,
  }: { sessionId: string; organizationId: string; onlyIfNone?: boolean },
): Promise<void> {
  await db.query(sql`
    update sessions set organization_id = ${organizationId}::uuid
    where id = ${sessionId}::uuid and (organization_id is null or not ${onlyIfNone}::boolean)`)
}

/** Whether it is the first organization of the installation, which belongs to the operator. */
export async function isFirst(db: CrossTenantConnection, organizationId: string): Promise<boolean> {
  const [row] = await db.query<{ isFirst: boolean }>(
    sql`select id = ${organizationId}::uuid as "isFirst" from organizations order by id limit 1`,
  )
  return row?.isFirst ?? false
}
