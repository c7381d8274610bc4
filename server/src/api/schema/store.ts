import type { Connection } from '../../platform/database/database.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { identifier, join, raw, sql } from '../../platform/model/sql.ts'
import { andWithinReach } from '../../platform/records/filter/scope.ts'
import { scopeOf } from '../../platform/records/page/read.ts'

/** A key that the organization uses in its custom properties. */
export interface CustomProperty {
  key: string
  /** The type of its values; `other` for lists and objects, and for values of different types. */
  type: 'string' | 'number' | 'boolean' | 'other'
  /** The number of the records read that have it. */
  count: number
}

/** Only so many of the newest records are read, so that the cost does not grow with their number. */
export const recordsRead = 1000
export const maxKeys = 200

/** The custom property keys in use, for each of the resources; the most frequent ones first. */
export async function readCustomProperties(
  db: Connection,
  resources: readonly Resource[],
): Promise<ReadonlyMap<string, CustomProperty[]>> {
  const scope = scopeOf(db, undefined)
  const found = resources.map((resource) => {
    const { name, table } = resource
    return sql`(
      select ${name}::text as resource, key, count(*)::integer as count,
        case when min(type) = max(type) and min(type) in ('string', 'number', 'boolean') then min(type) else 'other' end as type
      from (
        select property.key, jsonb_typeof(property.value) as type from (
          select custom_properties from ${identifier(table)}
          where organization_id = ${db.organization} and deleted_at is null${andWithinReach(resource, scope, identifier(table))}
          order by created_at desc, id desc limit ${raw(String(recordsRead))}
        ) newest, jsonb_each(newest.custom_properties) property
        where property.value <> 'null'::jsonb
      ) used
      group by key order by count(*) desc, key limit ${raw(String(maxKeys))})`
  })
  const rows = await db.query<CustomProperty & { resource: string }>(join(found, ' union all '))
  const byResource = new Map<string, CustomProperty[]>(resources.map(({ name }) => [name, []]))
  for (const { resource, key, type, count } of rows) byResource.get(resource)?.push({ key, type, count })
  return byResource
}
