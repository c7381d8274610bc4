import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { identifier, sql } from '../../platform/model/sql.ts'

/** The names of the organizations in which only this person (uuid) is an owner who can log in. */
export async function findSoleOwnerships(db: CrossTenantConnection, userId: string): Promise<string[]> {
  // The same lock as for leaving and removing: of the last two owners, the second sees that the first is gone.
  await db.query(sql`
    select id from organizations where id in (select organization_id from members where user_id = ${userId}::uuid)
    order by id for no key update`)
  const found = await db.query<{ name: string }>(sql`
    select name from organizations
    where id in (select organization_id from members where user_id = ${userId}::uuid and role = 'owner')
      and not exists (select from members join users on users.id = members.user_id
        where members.organization_id = organizations.id and role = 'owner' and disabled_at is null
          and users.id <> ${userId}::uuid)
    order by name`)
  return found.map(({ name }) => name)
}

/** The organizations (uuids) of the person (uuid). */
export async function findMemberships(db: CrossTenantConnection, userId: string): Promise<string[]> {
  const found = await db.query<{ id: string }>(sql`
    select organization_id as id from members where user_id = ${userId}::uuid order by 1`)
  return found.map(({ id }) => id)
}

/** Tables that say something about a person, all by `user_id`. */
const personal = [
  'sessions',
  'pending_logins',
  'one_time_tokens',
  'totp_secrets',
  'recovery_codes',
  'passkeys',
  'factor_failures',
  'former_addresses',
  'sso_identities',
  'sso_steps',
] as const

/**
 * Erases the disabled person (uuid), who is a member of no organization. Their id stays, without an address or a name:
 * API keys and records refer to it, and a key still sees only what the last role of its creator did.
 */
export async function erasePerson(db: CrossTenantConnection, userId: string): Promise<void> {
  for (const table of personal) await db.query(sql`delete from ${identifier(table)} where user_id = ${userId}::uuid`)
  await db.query(sql`
    delete from mails where user_id = ${userId}::uuid
      or recipient_key = (select email_key from users where id = ${userId}::uuid)`)
  await db.query(sql`
    delete from invitations where email_key = (select email_key from users where id = ${userId}::uuid)`)
  await db.query(sql`
    update users set name = 'Deleted person', email = 'deleted-' || id || '@deleted.invalid',
      email_key = 'deleted-' || id || '@deleted.invalid', password_hash = null, verified_at = null,
      password_changed_at = null, last_login_at = null, second_factors = '{}', time_zone = null, language = null, updated_at = now()
    where id = ${userId}::uuid`)
}
