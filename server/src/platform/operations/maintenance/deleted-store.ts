import { identifier, join, type Sql, sql } from '../../model/sql.ts'
import { columnOf, isInFeed, parentsOf, type Resource } from '../../records/declare/define.ts'
import { renderingsTable } from '../../records/declare/tables.ts'
import type { Dependent, RetentionPolicy } from './retention-store.ts'

/** Seconds added to the time for restoring, so that a restore in progress never sees a partly purged record. */
const grace = 60

/** Nested records and links are purged too, with what events knew of them, and optional references cleared; a required reference delays the purge. */
export function deletedRecords(
  resource: Resource,
  all: readonly Resource[],
  alsoExcluded?: (organization: Sql) => Sql,
): RetentionPolicy {
  const referring = all.flatMap((other) =>
    Object.entries(other.fields)
      .filter(([, { references }]) => references?.table === resource.table)
      .map(([name, { nullable, references }]) => ({
        table: other.table,
        name: other.name,
        column: columnOf(name),
        nullable,
        cascades: references?.cascades ?? false,
        purged: isInFeed(other) ? other : undefined,
        reference: isInFeed(other) ? { resource: other, field: name } : undefined,
      })),
  )
  const links = referring
    .filter(({ cascades }) => cascades)
    .map(({ name, table, column, purged }): Dependent => ({ name, table, column, purged, action: 'delete' }))
  const children = all.flatMap((other): Dependent[] =>
    parentsOf(other)
      .filter((parent) => parent.resource.table === resource.table)
      .map(({ column }) => ({
        name: other.name,
        table: other.table,
        column,
        action: 'delete',
        purged: isInFeed(other) ? other : undefined,
      })),
  )
  const released = referring
    .filter(({ nullable, cascades }) => nullable && !cascades)
    .map(({ name, table, column, reference }): Dependent => ({
      name,
      table,
      column,
      released: reference,
      action: 'release',
    }))
  const blocking = referring.filter(({ nullable, cascades }) => !nullable && !cascades)
  const excluded = (organization: Sql): Sql =>
    join(
      [
        ...blocking.map(
          ({ table, column }) => sql`exists (select from ${identifier(table)} needing
            where needing.organization_id = ${organization} and needing.${identifier(column)} = record.id)`,
        ),
        ...(alsoExcluded ? [alsoExcluded(organization)] : []),
      ],
      ' or ',
    )
  return {
    name: resource.name,
    table: resource.table,
    key: { id: 'uuid' },
    since: 'deleted_at',
    ttlSeconds: resource.restorableDays * 24 * 60 * 60 + grace,
    // Links first: those to a child would be deleted with it, and the feed would not say so.
    dependents: [...links, ...children, ...released],
    ...(isInFeed(resource) && { purged: resource }),
    ...(resource.renderingVersion !== undefined && {
      renderings: { table: renderingsTable(resource), column: columnOf(`${resource.singular}Id`) },
    }),
    ...((blocking.length > 0 || alsoExcluded) && { excluded }),
  }
}
