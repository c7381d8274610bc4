import type { Connection, Transaction } from '../../platform/database/database.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { identifier, join, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { reachConditions } from '../../platform/records/filter/scope.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { uniqueOwner, uniqueTable, uniqueValueSql, valuesSql } from '../../platform/records/write/unique-values.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import type { JsonValue } from '../../platform/model/json.ts'
import type { PropertyDefinition } from '../../platform/records/declare/field.ts'

export interface StoredValue {
  id: string
  value: JsonValue
}

/** What records have at the key of a definition. */
export interface StoredValues {
  /** The number of records with a value. */
  used: number
  /** Of these, the number whose value does not fit the type, and the first of them. */
  unfit: number
  examples: readonly StoredValue[]
  /** The number of records, including deleted ones, with a choice that is to be removed. */
  removed: number
}

/** The records with a value that another record has too: their number, and the first of them. */
export interface Duplicates {
  duplicates: number
  duplicateExamples: readonly StoredValue[]
}

/** A definition, and what has to be examined before it applies. */
export interface Examination {
  resource: Resource
  definition: PropertyDefinition
  /** Must all values fit? Otherwise they fit already. */
  checksFit: boolean
  /** Choices that no record may have. */
  removed: readonly string[]
}

/** The resource of a definition. */
export function definableResource(name: JsonValue | undefined): Resource {
  const found = [contacts, companies, deals].find((resource) => resource.name === name)
  if (!found) throw new Error(`${String(name)} have no definable properties`)
  return found
}

/** Maximum number of records that a report names. */
export const maxExamples = 10

export const noneStored: StoredValues = { used: 0, unfit: 0, examples: [], removed: 0 }

/** Two results about different records. */
export const joined = (first: StoredValues, second: StoredValues): StoredValues => ({
  used: first.used + second.used,
  unfit: first.unfit + second.unfit,
  examples: [...first.examples, ...second.examples].slice(0, maxExamples),
  removed: first.removed + second.removed,
})

export interface Step {
  /** Records after this one (uuid). */
  after: string
  limit: number
  /** Maximum number of examples. */
  examples: number
}

/** Examines the next records. `last` is undefined after the last record. */
export async function examineNext(
  db: Connection,
  examination: Examination,
  { after, limit, examples }: Step,
): Promise<{ found: StoredValues; last: string | undefined }> {
  const { resource } = examination
  const rows = sql`select ${recordColumns(db, examination)} from ${identifier(resource.table)} record
    where organization_id = ${db.organization} and id > ${after}::uuid order by id limit ${limit}`
  const { last, ...found } = await examine(db, examination, rows, examples)
  return { found, last: last ?? undefined }
}

/** Examines the records that were created, changed, deleted or restored since then (an instant, as text). */
export async function examineChanged(
  transaction: Transaction,
  examination: Examination,
  since: string,
): Promise<StoredValues> {
  const { resource } = examination
  const changed = (condition: Sql) => sql`select ${recordColumns(transaction, examination)}
    from ${identifier(resource.table)} record
    where organization_id = ${transaction.organization} and ${condition}`
  const { last: _, ...found } = await examine(
    transaction,
    examination,
    sql`${changed(sql`deleted_at is null and updated_at >= ${since}::timestamptz`)}
      union all ${changed(sql`deleted_at >= ${since}::timestamptz`)}`,
  )
  return found
}

/**
 * An instant before the time of each change that is not visible yet: transactions write the time when they began. It is
 * earlier by a second, because that time is stored in milliseconds.
 */
export async function startOfUnseenChanges(db: Connection): Promise<string> {
  const [row] = await db.query<{ since: string }>(sql`
    select (coalesce(min(xact_start), now()) - interval '1 second')::text as since from pg_stat_activity
    where datname = current_database() and ${db.organization} is not null`)
  if (!row) throw new Error('the time of the oldest transaction was not returned')
  return row.since
}

/** Only the records within the caller's reach count. */
const recordColumns = (db: Connection, { resource, definition }: Examination): Sql =>
  sql`id, deleted_at, custom_properties -> ${definition.key}::text as value, ${isReachedSql(db, resource)} as is_reached`

function isReachedSql(db: Connection, resource: Resource): Sql {
  const bounds = reachConditions(resource, scopeOf(db, undefined), raw('record'))
  return bounds.length === 0 ? raw('true') : sql`(${join(bounds, ' and ')})`
}

async function examine(
  db: Connection,
  { resource, definition, checksFit, removed }: Examination,
  rows: Sql,
  examples = maxExamples,
): Promise<StoredValues & { last: string | null }> {
  const misfits = checksFit ? sql`not coalesce(${fits(db, definition)}, false)` : raw('false')
  const [found] = await db.query<StoredValues & { last: string | null }>(sql`
    with batch as materialized (${rows}),
    used as materialized (
      select id, value from batch where is_reached and deleted_at is null and coalesce(value, 'null') <> 'null'),
    unfit as materialized (select id, value from used where ${misfits})
    select (select count(*) from used)::integer as used, (select count(*) from unfit)::integer as unfit, (
        select coalesce(json_agg(json_build_object('id', id, 'value', value)), '[]') from (
          select id, value from unfit order by id limit ${examples}::integer) first) as examples,
      (select count(*) from batch where is_reached and value ?| ${removed}::text[])::integer as removed,
      (select id from batch order by id desc limit 1) as last`)
  if (!found) throw new Error('the examination returned no row')
  return { ...found, examples: shownValues(resource, found.examples) }
}

const shownValues = (resource: Resource, rows: readonly StoredValue[]): StoredValue[] =>
  rows.map(({ id, value }) => ({ id: encodeId(resource.idPrefix, id), value }))

/** Finds the records within the caller's reach that are not deleted and have a value that another one has too. */
export async function findDuplicates(
  transaction: Transaction,
  resource: Resource,
  definition: PropertyDefinition,
): Promise<Duplicates> {
  const [found] = await transaction.query<{ duplicates: number; examples: StoredValue[] }>(sql`
    with used as materialized (
      select id, custom_properties -> ${definition.key}::text as value from ${identifier(resource.table)} record
      where organization_id = ${transaction.organization} and deleted_at is null
        and ${isReachedSql(transaction, resource)}
        and coalesce(custom_properties -> ${definition.key}::text, 'null') <> 'null'),
    repeated as materialized (
      select id, value from (
        select id, value,
          count(*) over (partition by ${uniqueValueSql(sql`${definition.type}::text`, raw('value'))}) as holders from used
      ) counted where holders > 1)
    select (select count(*) from repeated)::integer as duplicates, (
      select coalesce(json_agg(json_build_object('id', id, 'value', value)), '[]') from (
        select id, value from repeated order by id limit ${raw(String(maxExamples))}) first) as examples`)
  if (!found) throw new Error('the examination returned no row')
  return { duplicates: found.duplicates, duplicateExamples: shownValues(resource, found.examples) }
}

/** Is `value` a stored value of the type? A value that a write would convert to another form does not fit. */
function fits(db: Connection, { type, choices, references }: PropertyDefinition): Sql {
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
      return referenceFits(db, references)
  }
}

/** Does the value have the form of an id, and does a record have it? */
function referenceFits({ organization }: Connection, references: PropertyDefinition['references']): Sql {
  const { resource = '', idPrefix = '' } = references ?? {}
  const form = raw(`'^${idPrefix}_[0-9a-f]{32}$'`)
  const isId = sql`jsonb_typeof(value) = 'string' and value #>> '{}' ~ ${form}`
  // Members belong to another place, so that no statement reads them together with records.
  if (resource === 'members') return isId
  return sql`case when ${isId} then exists (
    select from ${identifier(resource)} named where named.organization_id = ${organization} and named.deleted_at is null
      and named.id = substring(value #>> '{}' from ${raw(String(idPrefix.length + 2))})::uuid) end`
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
