import type { Database } from '../database/database.ts'
import type { Resource } from '../model/define.ts'
import { identifier, type Sql, sql } from '../model/sql.ts'
import { staleSql } from '../query/rendering.ts'

/** Where a walk through a table stands: the key of the last record it looked at. */
export interface RecordKey {
  organizationId: string
  id: string
}

/** One step of a walk. */
export interface RefreshStep {
  /** Where the next step begins; undefined at the end of the table. */
  last: RecordKey | undefined
  /** Records that had no valid rendering. */
  rendered: number
}

const firstKey: RecordKey = {
  organizationId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
}

/** Renders those of the next `limit` records that have no valid rendering. */
export async function refreshRenderings(
  database: Database,
  resource: Resource,
  { after = firstKey, limit }: { after: RecordKey | undefined; limit: number },
): Promise<RefreshStep> {
  const walked = sql`
    select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
    where (organization_id, id) > (${after.organizationId}::uuid, ${after.id}::uuid)
    order by organization_id, id limit ${limit}`
  const [row] = await database.crossTenantQuery<{
    organization_id: string | null
    id: string | null
    rendered: string
  }>(
    'refresh renderings',
    sql`with walked as materialized (${walked}), ${staleSql(resource)},
      last as (select organization_id, id from walked order by organization_id desc, id desc limit 1)
    select last.organization_id, last.id, (select count(*) from stored) as rendered from (select) one left join last on true`,
  )
  const { organization_id: organizationId = null, id = null, rendered = '0' } = row ?? {}
  return {
    last: organizationId === null || id === null ? undefined : { organizationId, id },
    rendered: Number(rendered),
  }
}

/** The statement that renders all of an organization's records, for a load that wrote them without. */
export const renderAllSql = (resource: Resource, organizationId: string): Sql => sql`
  with walked as materialized (
    select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
    where organization_id = ${organizationId}::uuid), ${staleSql(resource)}
  select count(*) from stored`
