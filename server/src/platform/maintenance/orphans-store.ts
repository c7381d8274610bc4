import type { Database } from '../database/database.ts'
import { serviceActor } from '../model/caller.ts'
import { identifier, sql } from '../model/sql.ts'

/** A column of the directory that refers to a record of an organization, which no foreign key can do. */
export interface DirectoryReference {
  table: string
  column: string
  to: string
  /** What happens to a row whose record does not exist. */
  action: 'delete' | 'release'
}

interface Reference {
  organizationId: string
  recordId: string
}

const batchSize = 500

/** Removes references to records that a process of the previous release purged or referred to meanwhile. */
export async function removeOrphans(
  database: Database,
  reference: DirectoryReference,
  signal: AbortSignal,
): Promise<void> {
  for (let after: Reference | undefined; !signal.aborted;) {
    const found = await findReferences(database, reference, after)
    const byOrganization = new Map<string, string[]>()
    for (const { organizationId, recordId } of found)
      byOrganization.set(organizationId, [...(byOrganization.get(organizationId) ?? []), recordId])
    for (const [organizationId, ids] of byOrganization) {
      const missing = await findMissing(database, reference, { organizationId, ids })
      if (missing.length > 0) await remove(database, reference, { organizationId, ids: missing })
    }
    after = found.at(-1)
    if (after === undefined) break
  }
}

/** Not those of the last hour: a new record may become visible after its references. */
const findReferences = (
  database: Database,
  { table, column }: DirectoryReference,
  after: Reference = {
    organizationId: '00000000-0000-0000-0000-000000000000',
    recordId: '00000000-0000-0000-0000-000000000000',
  },
): Promise<Reference[]> =>
  database.crossTenantQuery<Reference>(
    'remove orphans',
    sql`select distinct organization_id as "organizationId", ${identifier(column)} as "recordId" from ${identifier(table)}
      where (organization_id, ${identifier(column)}) > (${after.organizationId}::uuid, ${after.recordId}::uuid)
        and created_at < now() - interval '1 hour'
      order by 1, 2 limit ${batchSize}`,
  )

interface Records {
  organizationId: string
  ids: readonly string[]
}

async function findMissing(
  database: Database,
  { to }: DirectoryReference,
  { organizationId, ids }: Records,
): Promise<string[]> {
  const reader = database.reader(serviceActor('maintenance', organizationId))
  const existing = await reader.query<{ id: string }>(
    sql`select id from ${identifier(to)} where organization_id = ${reader.organization} and id = any(${ids}::uuid[])`,
  )
  const found = new Set(existing.map(({ id }) => id))
  return ids.filter((id) => !found.has(id))
}

async function remove(
  database: Database,
  { table, column, action }: DirectoryReference,
  { organizationId, ids }: Records,
): Promise<void> {
  const change =
    action === 'delete'
      ? sql`delete from ${identifier(table)}`
      : sql`update ${identifier(table)} set ${identifier(column)} = null`
  await database.crossTenantQuery(
    'remove orphans',
    sql`${change} where organization_id = ${organizationId}::uuid and ${identifier(column)} = any(${ids}::uuid[])`,
  )
}
