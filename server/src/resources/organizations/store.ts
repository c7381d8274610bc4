import type { Database, Spanning } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** A new organization with its default team and its first owner. */
export async function insertOrganization(
  spanning: Spanning,
  organization: { id: string; name: string; slug: string; teamId: string; ownerId: string },
): Promise<void> {
  const { id, name, slug, teamId, ownerId } = organization
  await spanning.query(sql`insert into organizations (id, name, slug) values (${id}, ${name}, ${slug})`)
  await spanning.query(
    sql`insert into teams (organization_id, id, name, is_default) values (${id}, ${teamId}, 'Default team', true)`,
  )
  await spanning.query(sql`insert into members (organization_id, user_id, role) values (${id}, ${ownerId}, 'owner')`)
}

/** Is the slug taken already? */
export async function hasSlug(database: Database, slug: string): Promise<boolean> {
  const rows = await database.spanning('create an organization', sql`select from organizations where slug = ${slug}`)
  return rows.length > 0
}

export interface FoundOrganization {
  id: string
  name: string
  /** Found by its id or slug, which only one has; a name may stand for several. */
  isExact: boolean
  /** The owner it has had longest. */
  ownerId: string | null
}

/** The organizations of this id, slug or name, the exact one first. */
export const findOrganizations = (
  database: Database,
  { id = null, text }: { id: string | null | undefined; text: string },
): Promise<FoundOrganization[]> =>
  database.spanning(
    'find the organization of a command',
    sql`select organizations.id, organizations.name,
        (organizations.id = ${id}::uuid) is true or slug = ${text} as "isExact",
        (select user_id from members
          where members.organization_id = organizations.id and members.role = 'owner'
          order by members.created_at, members.user_id limit 1) as "ownerId"
      from organizations
      where organizations.id = ${id}::uuid or slug = ${text} or fold(name) = fold(${text})
      order by "isExact" desc, organizations.id`,
  )
