import type { Connection } from '../platform/database/database.ts'
import { identifier, join, raw, type Sql, sql } from '../platform/model/sql.ts'
import { listedAcrossParents, type Resource } from '../platform/records/declare/define.ts'
import { root } from '../platform/records/filter/target.ts'
import { withinScope } from '../platform/records/page/page.ts'
import { scopeOf } from '../platform/records/page/read.ts'
import { keyOf, type RecordName } from './store.ts'

/** Those of the records that exist and are within the reach of the connection's person, as keys. */
export async function findReached(
  db: Connection,
  resources: Iterable<Resource>,
  records: readonly RecordName[],
): Promise<Set<string>> {
  const scope = scopeOf(db, undefined)
  const parts = [...resources].flatMap((declared): Sql[] => {
    const resource = listedAcrossParents(declared)
    const ids = records.filter((record) => record.resource === resource.singular).map(({ id }) => id)
    if (ids.length === 0) return []
    return [
      sql`select ${resource.singular}::text as resource, ${raw(root)}.id from ${identifier(resource.table)} ${raw(root)}
        where ${withinScope(resource, scope)} and ${raw(root)}.id = any(${ids}::uuid[])`,
    ]
  })
  if (parts.length === 0) return new Set()
  return new Set((await db.query<RecordName>(join(parts, ' union all '))).map(keyOf))
}
