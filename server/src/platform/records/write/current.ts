import type { Transaction } from '../../database/database.ts'
import { identifier, isOneOf, join, preparedForOne, raw, type Sql, sql } from '../../model/sql.ts'
import { withinScope } from '../page/page.ts'
import type { RecordSource } from '../rendering/rendering.ts'
import { documentJoins, documentSql } from '../page/select.ts'
import { isRestricted, readFor, type ReadFor, type Scope } from '../filter/scope.ts'
import { root } from '../filter/target.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { scopeOf } from '../page/read.ts'
import type { Change, StoredRow, CurrentRow } from '../declare/changes.ts'
import type { JsonObject } from '../../model/json.ts'

/** The columns of a `StoredRow`. Needs the joins of `documentSql`. */
export const storedSql = (resource: Resource, source: RecordSource = 'table', reading?: ReadFor): Sql => sql`
  ${raw(root)}.id, ${documentSql(resource, { source, ...reading })} as text,
  ${resource.viewOf ? documentSql(resource.viewOf, { source, ...reading }) : raw('null')} as whole, ${raw(root)}.revision`

export const wholeOf = ({ whole, text }: StoredRow): JsonObject => JSON.parse(whole ?? text) as JsonObject

/** The current records, locked in id order so that two sets never deadlock. */
export async function lockRecords(
  transaction: Transaction,
  resource: Resource,
  changes: readonly Change[],
  parentId: string | undefined,
): Promise<Map<string, CurrentRow>> {
  const ids = changes.flatMap((change) => (change.kind === 'update' ? [change.id] : []))
  if (ids.length === 0) return new Map()
  const restoring = changes.some((change) => change.kind === 'update' && change.lifecycle === 'restore')
  const scope = scopeOf(transaction, parentId)
  const bounds = withinScope(resource, scope, { deleted: restoring })
  const isWanted = sql`where ${bounds} and ${isOneOf(sql`${raw(root)}.id`, ids, 'uuid')}
    order by ${raw(root)}.id for update of ${raw(root)}`
  // Sent together.
  const [, rows] = await Promise.all([
    hasLookups(resource)
      ? transaction.query(
          preparedForOne(ids, sql`select ${raw(root)}.id from ${identifier(resource.table)} ${raw(root)} ${isWanted}`),
        )
      : undefined,
    transaction.query<Omit<CurrentRow, 'record'>>(
      preparedForOne(
        ids,
        sql`
    select ${storedSql(resource, 'table', readFor(resource, scope))}, ${danglingSql(resource, scope)} as dangling
    from ${identifier(resource.table)} ${raw(root)}${documentJoins(resource, scope)} ${isWanted}`,
      ),
    ),
  ])
  return new Map(rows.map((row) => [row.id, { ...row, record: wholeOf(row) }]))
}

/**
 * Does reading a record join others? A statement that waits for a lock then rereads the record, but not the joined
 * ones: it would name what the record referred to before. So it must be locked by an earlier statement.
 */
const hasLookups = ({ embedded }: Resource): boolean => Object.keys(embedded).length > 0

/** Not those that may be out of the caller's reach: sending back the null that they read as must not clear them. */
function danglingSql({ embedded }: Resource, scope: Scope): Sql {
  const reachable = Object.entries(embedded).filter(([, { resource }]) => !isRestricted(resource, scope))
  const names = reachable.map(
    ([name, { through }]) =>
      sql`case when ${raw(root)}.${identifier(columnOf(through))} is not null and ${raw(name)}.id is null then ${through}::text end`,
  )
  return sql`array_remove(array[${join(names, ', ')}]::text[], null)`
}

/** The records whose ids are selected by `ids`, locked in id order until the transaction ends. */
export async function lockSelected(transaction: Transaction, resource: Resource, ids: Sql): Promise<CurrentRow[]> {
  const scope = scopeOf(transaction, undefined)
  const isWanted = sql`where ${withinScope(resource, scope)} and ${raw(root)}.id = any(array(select id from found))
    order by ${raw(root)}.id for no key update of ${raw(root)}`
  const locked = hasLookups(resource)
    ? await transaction.query<{ id: string }>(sql`
    with found as materialized (${ids})
    select ${raw(root)}.id from ${identifier(resource.table)} ${raw(root)} ${isWanted}`)
    : undefined
  const found = locked ? sql`select unnest(${locked.map(({ id }) => id)}::uuid[]) as id` : ids
  const rows = await transaction.query<Omit<CurrentRow, 'record'>>(sql`
    with found as materialized (${found})
    select ${storedSql(resource, 'table', readFor(resource, scope))}, ${danglingSql(resource, scope)} as dangling
    from ${identifier(resource.table)} ${raw(root)}${documentJoins(resource, scope)} ${isWanted}`)
  return rows.map((row) => ({ ...row, record: wholeOf(row) }))
}
