import { deletesAuditEventsSql } from '../audit-log/store.ts'
import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { identifier, sql } from '../../platform/model/sql.ts'

/** The organizations (uuids) whose time to undo their deletion is over. */
export async function findDueDeletions(database: Database): Promise<string[]> {
  const rows = await database.crossTenantQuery<{ id: string }>(
    'purge expired rows',
    sql`select id from organizations where deletes_at <= now() order by deletes_at`,
  )
  return rows.map(({ id }) => id)
}

/** The tables with rows of organizations, each before the tables that it references. */
export async function tablesOfOrganizations(database: Database): Promise<string[]> {
  const tables = await database.crossTenantQuery<{ name: string; referring: string[] }>(
    'purge expired rows',
    sql`select class.relname::text as name,
        array(select distinct other.relname::text from pg_constraint join pg_class other on other.oid = conrelid
          where confrelid = class.oid and contype = 'f' and conrelid <> confrelid) as referring
      from pg_class class
      where class.relkind in ('r', 'p') and class.relnamespace::regnamespace::name = any(current_schemas(false))
        and exists (select from pg_attribute where attrelid = class.oid and attname = 'organization_id'
          and not attisdropped)
      order by 1`,
  )
  const remaining = new Map(tables.map((table) => [table.name, table]))
  const ordered: string[] = []
  const visit = (name: string): void => {
    const table = remaining.get(name)
    if (!table) return
    remaining.delete(name)
    for (const other of table.referring) visit(other)
    ordered.push(name)
  }
  for (const { name } of tables) visit(name)
  return ordered
}

/** Deletes at most `limit` of the organization's rows; returns how many. */
export const removeRows = (
  database: Database,
  { table, organizationId, limit }: { table: string; organizationId: string; limit: number },
): Promise<number> =>
  database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
    const own = sql`organization_id = ${transaction.organization}`
    await transaction.query(sql`select ${transaction.organization} as organization, ${deletesAuditEventsSql}`)
    const removed = await transaction.query(sql`
      delete from ${identifier(table)} where ${own} and ctid = any(array(
        select ctid from ${identifier(table)} where ${own} limit ${limit})) returning 1`)
    return removed.length
  })

/**
 * Rows of the directory: few, or with few in each organization. Sessions stay, because they belong to people. Returns how
 * many rows were changed.
 */
export async function removeFromDirectory(database: Database, table: string, organizationId: string): Promise<number> {
  const own = sql`where organization_id = ${organizationId}::uuid`
  const change =
    table === 'sessions'
      ? sql`update sessions set organization_id = null ${own} returning 1`
      : sql`delete from ${identifier(table)} ${own} returning 1`
  return (await database.crossTenantQuery('purge expired rows', change)).length
}

/** The last step: nothing refers to it any more. */
export async function removeOrganization(database: Database, organizationId: string): Promise<void> {
  await database.crossTenantQuery(
    'purge expired rows',
    sql`delete from organizations where id = ${organizationId}::uuid and deletes_at <= now()`,
  )
}
