import type { Database } from '../database/database.ts'
import type { Resource } from '../model/define.ts'
import { identifier, type Sql, sql } from '../model/sql.ts'
import { staleSql } from '../query/rendering.ts'

export interface RecordKey {
  organizationId: string
  id: string
}

export interface RefreshStep {
  /** Where the next step starts; undefined at the end of the table. */
  last: RecordKey | undefined
  /** Number of records that had no valid rendering. */
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
  const scanned = sql`
    select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
    where (organization_id, id) > (${after.organizationId}::uuid, ${after.id}::uuid)
    order by organization_id, id limit ${limit}`
  const [row] = await database.crossTenantQuery<{
    organization_id: string | null
    id: string | null
    rendered: string
  }>(
    'refresh renderings',
    sql`with scanned as materialized (${scanned}), ${staleSql(resource)},
      last as (select organization_id, id from scanned order by organization_id desc, id desc limit 1)
    select last.organization_id, last.id, (select count(*) from stored) as rendered from (select) one left join last on true`,
  )
  const { organization_id: organizationId = null, id = null, rendered = '0' } = row ?? {}
  return {
    last: organizationId === null || id === null ? undefined : { organizationId, id },
    rendered: Number(rendered),
  }
}

/** The statement that renders all records of an organization, after a bulk load without renderings. */
export const renderAllSql = (resource: Resource, organizationId: string): Sql => sql`
  with scanned as materialized (
    select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
    where organization_id = ${organizationId}::uuid), ${staleSql(resource)}
  select count(*) from stored`
