import type { Transaction } from '../../platform/database/database.ts'
import type { PropertyDefinition } from '../../platform/model/declared-property.ts'
import type { Resource } from '../../platform/model/define.ts'
import type { JsonValue } from '../../platform/model/fields.ts'
import { showId } from '../../platform/model/ids.ts'
import { identifier, join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { reachConditions } from '../../platform/query/scope.ts'
import { scopeOf } from '../../platform/resource/read.ts'
import { uniqueOwner, uniqueTable, uniqueValueSql, valuesSql } from '../../platform/resource/unique-values.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'

/** What records have at the key of a definition. */
export interface StoredValues {
  /** The number of records with a value. */
  used: number
  /** Of these, the number whose value does not fit the type, and the first of them. */
  unfit: number
  examples: { id: string; value: JsonValue }[]
  /** The number of records with a value that another record has too, if it should be unique, and the first of them. */
  duplicates: number
  duplicateExamples: { id: string; value: JsonValue }[]
}

/** The resource of a definition. */
export function definableResource(name: JsonValue | undefined): Resource {
  const found = [contacts, companies, deals].find((resource) => resource.name === name)
  if (!found) throw new Error(`${String(name)} have no definable properties`)
  return found
}

/** Maximum number of records that a report names. */
export const maxExamples = 10

/** Examines the values of all records that are not deleted, in one statement. */
export async function examineStoredValues(
  transaction: Transaction,
  resource: Resource,
  definition: PropertyDefinition,
): Promise<StoredValues> {
  const examples = (rows: Sql) => sql`(
    select coalesce(json_agg(json_build_object('id', id, 'value', value)), '[]')
    from (select id, value from ${rows} where is_reached order by id limit ${raw(String(maxExamples))}) first)`
  // Callers see only the records within their reach; all of them count.
  const bounds = reachConditions(resource, scopeOf(transaction, undefined), raw('record'))
  const isReached = bounds.length === 0 ? raw('true') : sql`(${join(bounds, ' and ')})`
  const same = sql`${uniqueValueSql(sql`${definition.type}::text`, raw('value'))}`
  const [found] = await transaction.query<{
    used: number
    unfit: number
    examples: StoredValues['examples']
    duplicates: number
    duplicate_examples: StoredValues['examples']
  }>(sql`
    with used as materialized (
      select id, custom_properties -> ${definition.key}::text as value, ${isReached} as is_reached
      from ${identifier(resource.table)} record
      where organization_id = ${transaction.organization} and deleted_at is null
        and coalesce(custom_properties -> ${definition.key}::text, 'null') <> 'null'),
    unfit as materialized (select id, value, is_reached from used where not coalesce(${fits(transaction, definition)}, false)),
    repeated as materialized (
      select id, value, is_reached from (
        select id, value, is_reached, count(*) over (partition by ${same}) as holders from used where ${definition.unique}::boolean
      ) counted where holders > 1)
    select (select count(*) from used)::integer as used, (select count(*) from unfit)::integer as unfit,
      ${examples(raw('unfit'))} as examples, (select count(*) from repeated)::integer as duplicates,
      ${examples(raw('repeated'))} as duplicate_examples`)
  if (!found) throw new Error('the examination returned no row')
  const shown = (rows: StoredValues['examples']) =>
    rows.map(({ id, value }) => ({ id: showId(resource.idPrefix, id), value }))
  return {
    used: found.used,
    unfit: found.unfit,
    examples: shown(found.examples),
    duplicates: found.duplicates,
    duplicateExamples: shown(found.duplicate_examples),
  }
}

/** Is `value` a stored value of the type? A value that a write would convert to another form does not fit. */
function fits(transaction: Transaction, { type, choices, references }: PropertyDefinition): Sql {
  const text = sql`value #>> '{}'`
  const isText = (pattern: Sql, max = 10_000) =>
    sql`jsonb_typeof(value) = 'string' and ${text} ~ ${pattern} and char_length(${text}) <= ${raw(String(max))}`
  const values = choices.map((choice) => choice.value)
  switch (type) {
    case 'text':
      return isText(raw(`'\\S'`))
    case 'number':
    case 'boolean':
      return sql`jsonb_typeof(value) = ${type}`
    case 'date':
      return sql`${isText(raw(`'^\\d{4}-\\d{2}-\\d{2}$'`))} and instant(${text}) is not null`
    case 'instant':
      return sql`${isText(raw(`'^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'`))} and instant(${text}) is not null`
    case 'choice':
      return sql`jsonb_typeof(value) = 'string' and ${text} = any(${values}::text[])`
    case 'multiChoice':
      return sql`jsonb_typeof(value) = 'array' and value <@ to_jsonb(${values}::text[])`
    case 'url':
      return isText(raw(`'^[hH][tT][tT][pP][sS]?://[^\\s@/?#]+\\.?[^\\s]*$'`), 2048)
    case 'email':
      return isText(raw(`'^[^\\s@]+@[^\\s@/?#:]+\\.[^\\s@/?#:.]+$'`), 320)
    case 'phone':
      return isText(raw(`'^\\+[1-9]\\d{6,14}$'`))
    case 'money':
      return sql`case when jsonb_typeof(value) = 'object' then value - 'amount' - 'currency' = '{}'
        and jsonb_typeof(value -> 'amount') = 'string' and value ->> 'amount' ~ '^-?\\d{1,20}(\\.\\d{1,19})?$'
        and jsonb_typeof(value -> 'currency') = 'string' and value ->> 'currency' ~ '^[A-Z]{3}$' end`
    case 'reference':
      return referenceFits(transaction, references)
  }
}

/** Does the value have the form of an id, and does a record have it? */
function referenceFits({ organization }: Transaction, references: PropertyDefinition['references']): Sql {
  const { resource = '', idPrefix = '' } = references ?? {}
  const form = raw(`'^${idPrefix}_[0-9a-f]{32}$'`)
  const isId = sql`jsonb_typeof(value) = 'string' and value #>> '{}' ~ ${form}`
  // Members belong to another place, so that no statement reads them together with records.
  if (resource === 'members') return isId
  return sql`case when ${isId} then exists (
    select from ${identifier(resource)} named where named.organization_id = ${organization} and named.deleted_at is null
      and named.id = substring(value #>> '{}' from ${raw(String(idPrefix.length + 2))})::uuid) end`
}

/** The number of records that have one of these choices. */
export async function countChoices(
  transaction: Transaction,
  resource: Resource,
  { key }: PropertyDefinition,
  values: readonly string[],
): Promise<number> {
  const [found] = await transaction.query<{ count: number }>(sql`
    select count(*)::integer as count from ${identifier(resource.table)}
    where organization_id = ${transaction.organization} and (custom_properties -> ${key}::text) ?| ${values}::text[]`)
  return found?.count ?? 0
}

/** Stores the values of a property that has become unique, which no two records share. */
export async function storeUniqueValues(
  transaction: Transaction,
  resource: Resource,
  definition: PropertyDefinition,
): Promise<void> {
  await deleteUniqueValues(transaction, resource, definition)
  await transaction.query(sql`
    insert into ${uniqueTable(resource)} (organization_id, property_id, value, ${uniqueOwner(resource)})
    select ${transaction.organization}, property_id, value, record_id
    from (${valuesSql(transaction, resource, [definition])}) found`)
}

export async function deleteUniqueValues(
  transaction: Transaction,
  resource: Resource,
  { id }: PropertyDefinition,
): Promise<void> {
  await transaction.query(sql`
    delete from ${uniqueTable(resource)}
    where organization_id = ${transaction.organization} and property_id = ${id}::uuid`)
}
