import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../../database/database.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { uniqueValuesTable } from '../declare/tables.ts'
import { combinable, identifier, raw, type Sql, sql } from '../../model/sql.ts'
import { definableField, objectOf } from '../properties/values.ts'
import { UniqueConflict } from './unique-conflict.ts'
import type { PendingChange } from '../declare/changes.ts'
import type { DeclaredProperty, PropertySet } from '../declare/field.ts'

/** The table with the values of unique properties of the records that are not deleted. */
export const uniqueTable = (resource: Resource): Sql => identifier(uniqueValuesTable(resource))
export const uniqueOwner = ({ singular }: Resource): Sql => identifier(columnOf(`${singular}Id`))

/**
 * The hash of a jsonb value that makes two values equal: addresses ignore case, numbers their trailing zeros, and texts the
 * spaces around them and how their characters are composed.
 */
export const uniqueValueSql = (type: Sql, value: Sql): Sql => sql`sha256(convert_to(case
  when ${type} = 'email' then lower(normalize(${value} #>> '{}'))
  when jsonb_typeof(${value}) = 'number' then trim_scale((${value})::numeric)::text
  else btrim(normalize(${value} #>> '{}'), U&'\\0009\\000a\\000d\\0020\\00a0\\3000') end, 'UTF8'))`

/** The unique properties whose values the change touches. */
function touchedProperties(resource: Resource, set: PropertySet, change: PendingChange): DeclaredProperty[] {
  const name = definableField(resource) ?? ''
  const unique = [...set.properties.values()].filter((property) => property.unique)
  if (unique.length === 0 || (change.before && 'deleted_at' in change.columns)) return unique
  const values = change.values[name]
  if (values === undefined) return []
  const [before, after] = [objectOf(change.before?.[name]), objectOf(values)]
  return unique.filter(({ key }) => !isDeepStrictEqual(before[key] ?? null, after[key] ?? null))
}

/** Does the change set or remove a value that only one record can have? */
export const touchesUniqueValues = (resource: Resource, set: PropertySet, change: PendingChange): boolean =>
  touchedProperties(resource, set, change).length > 0

/** Updates the table that makes the values of unique properties unique. Throws `UniqueConflict`. */
export async function syncUniqueValues(
  transaction: Transaction,
  resource: Resource,
  set: PropertySet,
  pending: readonly PendingChange[],
): Promise<void> {
  const touched = pending.map((change) => ({ id: change.id, properties: touchedProperties(resource, set, change) }))
  const ids = touched.filter(({ properties }) => properties.length > 0).map(({ id }) => id)
  if (ids.length === 0) return
  const properties = [...new Set(touched.flatMap((one) => one.properties))]
  const { organization } = transaction
  const [table, owner] = [uniqueTable(resource), uniqueOwner(resource)]
  const send = <Row extends object>(statement: Sql) => transaction.query<Row>(combinable(statement))
  const wanted = valuesSql(transaction, resource, properties, sql`and record.id = any(${ids}::uuid[])`)
  const storing = sql`
    insert into ${table} as stored (organization_id, property_id, value, ${owner})
    -- Two sets that want the same values meet at the same one first.
    select ${organization}, property_id, value, record_id from wanted order by property_id, value
    on conflict do nothing returning property_id, stored.${owner} as record_id`
  const isTogether = transaction.writesTablesTogether
  const stored = isTogether
    ? sql`stored as (${storing})`
    : sql`stored as (select property_id, ${owner} as record_id from ${table}
        where organization_id = ${organization} and ${owner} = any(${ids}::uuid[]))`
  // Sent together.
  const removing = send(sql`
    delete from ${table} where organization_id = ${organization} and ${owner} = any(${ids}::uuid[])
      and property_id = any(${properties.map(({ id }) => id)}::uuid[]) returning property_id`)
  const adding = isTogether ? undefined : send(sql`with wanted as materialized (${wanted}) ${storing}`)
  const finding = send<{ property_id: string; value: string; record_id: string }>(sql`
    with wanted as materialized (${wanted}), ${stored}
    select property_id, encode(value, 'hex') as value, record_id from wanted
    where not exists (select from stored where stored.property_id = wanted.property_id and stored.record_id = wanted.record_id)
    limit 1`)
  const [, , [conflict]] = await Promise.all([removing, adding, finding])
  if (!conflict) return
  const key = properties.find(({ id }) => id === conflict.property_id)?.key
  const holder = sql`select ${owner} as id from ${table}
    where organization_id = ${organization} and property_id = ${conflict.property_id}::uuid
      and value = decode(${conflict.value}, 'hex') and ${owner} <> ${conflict.record_id}::uuid`
  throw new UniqueConflict(resource.viewOf ?? resource, `${definableField(resource)}.${key}`, holder, {})
}

/** The values of unique properties of the records that are not deleted, with the ids of the records. */
export function valuesSql(
  { organization }: Transaction,
  resource: Resource,
  properties: readonly Pick<DeclaredProperty, 'id' | 'key' | 'type'>[],
  more: Sql = raw(''),
): Sql {
  const column = sql`record.${identifier(columnOf(definableField(resource) ?? ''))}`
  const wanted = JSON.stringify(properties.map(({ id, key, type }) => ({ id, key, type })))
  return sql`
    select property.id as property_id, ${uniqueValueSql(raw('property.type'), sql`(${column} -> property.key)`)} as value,
      record.id as record_id
    from ${identifier(resource.table)} record
    join jsonb_to_recordset(${wanted}::jsonb) as property(id uuid, key text, type text)
      on coalesce(${column} -> property.key, 'null') <> 'null'
    where record.organization_id = ${organization} and record.deleted_at is null ${more}`
}
