import type { Database, Transaction } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import { combinable, identifier, prepared, type Sql, sql } from '../../model/sql.ts'
import { renderSql, staleSql, writtenSql } from './rendering.ts'

export interface RefreshStep {
  /** The id after which the next step starts; undefined at the end of the organization's records. */
  last: string | undefined
  /** Number of records that had no valid rendering. */
  rendered: number
}

export interface RefreshRange {
  organizationId: string
  after: string | undefined
  limit: number
}

/** Renders those of the next `limit` records of the organization that have no valid rendering. */
export async function refreshRenderings(
  database: Database,
  resource: Resource,
  { organizationId, after = '00000000-0000-0000-0000-000000000000', limit }: RefreshRange,
): Promise<RefreshStep> {
  const organization = sql`${organizationId}::uuid`
  const scanned = sql`
    select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
    where organization_id = ${organization} and id > ${after}::uuid order by id limit ${limit}`
  const [row] = await database.crossTenantQuery<{ last: string | null; rendered: string }>(
    'refresh renderings',
    sql`with scanned as materialized (${scanned}), ${staleSql(resource, organization)}
      select (select id from scanned order by id desc limit 1) as last, (select count(*) from stored) as rendered`,
  )
  return { last: row?.last ?? undefined, rendered: Number(row?.rendered ?? 0) }
}

/** The statement that renders all records of an organization, after a bulk load without renderings. */
export function renderAllSql(resource: Resource, organizationId: string): Sql {
  const organization = sql`${organizationId}::uuid`
  return sql`
    with scanned as materialized (
      select organization_id, id, xmin as source_xmin, ctid as source_ctid from ${identifier(resource.table)}
      where organization_id = ${organization}), ${staleSql(resource, organization)}
    select count(*) from stored`
}

/** Makes a change (an update of `record`) and renders the records, which `ids` finds (a query). */
export function changeAndRender(
  transaction: Transaction,
  resource: Resource,
  { change, ids }: { change: Sql; ids: Sql },
): void {
  if (transaction.writesTablesTogether) {
    transaction.send(prepared(sql`with ${writtenSql(resource, change)} select count(*) from written`))
    return
  }
  const rendering = renderSql(resource, transaction.organization, ids)
  const statements = [sql`${change} returning record.id`, ...(rendering ? [rendering] : [])]
  for (const statement of statements) transaction.send(combinable(statement))
}
