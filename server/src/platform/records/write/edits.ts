import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '../../secret/encryption.ts'
import type { Actor } from '../../model/caller.ts'
import type { Transaction } from '../../database/database.ts'
import { identifier, prepared, type Sql, sql } from '../../model/sql.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { objectOf } from '../properties/values.ts'
import type { PendingChange } from '../declare/changes.ts'
import type { JsonValue, JsonObject } from '../../model/json.ts'

/** The deliberate changes to a record: no later import overwrites or restores them. */
export class Edits {
  readonly #fields: ReadonlySet<string>
  /** By field, the digests of removed or replaced values. */
  readonly #values: ReadonlyMap<string, ReadonlySet<string>>

  constructor(fields: Iterable<string> = [], values: ReadonlyMap<string, ReadonlySet<string>> = new Map()) {
    this.#fields = new Set(fields)
    this.#values = values
  }

  has(field: string): boolean {
    return this.#fields.has(field)
  }

  hasValue(field: string, value: string): boolean {
    return this.#values.get(field)?.has(digestOf(value)) ?? false
  }

  /** The digests of the field's edited values. */
  digests(field: string): string[] {
    return [...(this.#values.get(field) ?? [])]
  }
}

/** The stored form of an edited value. */
export const digestOf = (value: string): string => sha256(value).toString('hex')

/** An external id as an edited value. */
export const externalIdText = (provider: string, value: JsonValue): string => `${provider} ${String(value)}`

/** A removed or replaced value of a record (uuid). */
export interface EditedValue {
  id: string
  field: string
  value: string
}

/**
 * Stores deliberate changes: those that are not an import's, and what a logged-in person enters for a new record.
 * `<singular>_edited_values` has the earlier contents of `trackedFields`, one string or external id per row.
 */
export function storeEdits(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
  trackedFields: readonly string[],
): void {
  const edits = pending.flatMap((one) => editedFields(transaction.actor, one).map((field) => ({ id: one.id, field })))
  if (edits.length === 0) return
  transaction.send(
    prepared(sql`
    insert into ${identifier(`${resource.singular}_edits`)} (organization_id, ${ownerOf(resource)}, field)
    select ${transaction.organization}, id, field
    from jsonb_to_recordset(${JSON.stringify(edits)}::jsonb) as edit(id uuid, field text)
    order by id, field on conflict do nothing returning field`),
  )
  const replaced = pending.flatMap((one) => replacedIn(one, trackedFields))
  storeEditedValues(transaction, resource, replaced)
}

/** Stores values that were removed from records of `resource`, or replaced, unless an import did it. */
export function storeEditedValues(transaction: Transaction, resource: Resource, edited: readonly EditedValue[]): void {
  if (edited.length === 0 || transaction.actor.kind === 'work') return
  const rows = edited.map(({ id, field, value }) => ({ id, field, digest: digestOf(value) }))
  transaction.send(
    prepared(sql`
    insert into ${identifier(`${resource.singular}_edited_values`)} (organization_id, ${ownerOf(resource)}, field, digest)
    select ${transaction.organization}, id, field, decode(digest, 'hex')
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as edited(id uuid, field text, digest text)
    order by id, field, digest on conflict do nothing returning field`),
  )
}

/** The deliberate changes to each of these records (uuids); records without any are omitted. */
export async function readEdits(
  transaction: Transaction,
  resource: Resource,
  ids: readonly string[],
): Promise<Map<string, Edits>> {
  if (ids.length === 0) return new Map()
  const rows = await transaction.query<{ id: string; field: string; digests: string[] | null }>(sql`
    select ${ownerOf(resource)} as id, field, null::text[] as digests from ${identifier(`${resource.singular}_edits`)}
    where organization_id = ${transaction.organization} and ${ownerOf(resource)} = any(${ids}::uuid[])
    union all
    select ${ownerOf(resource)}, field, array_agg(encode(digest, 'hex')) from ${identifier(`${resource.singular}_edited_values`)}
    where organization_id = ${transaction.organization} and ${ownerOf(resource)} = any(${ids}::uuid[]) group by 1, 2`)
  const found = new Map<string, StoredEdits>()
  for (const { id, field, digests } of rows) {
    const edits: StoredEdits = found.get(id) ?? { fields: [], values: new Map() }
    found.set(id, edits)
    if (digests === null) edits.fields.push(field)
    else edits.values.set(field, new Set(digests))
  }
  return new Map([...found].map(([id, { fields, values }]) => [id, new Edits(fields, values)]))
}

interface StoredEdits {
  fields: string[]
  values: Map<string, ReadonlySet<string>>
}

const ownerOf = ({ singular }: Resource) => identifier(columnOf(`${singular}Id`))

/** A common table expression that does the same for the statement that creates one record. `fields`: as JSON. */
export const creationEditsSql = ({ organization }: Transaction, resource: Resource, fields: Sql): Sql => sql`,
    edited as (
      insert into ${identifier(`${resource.singular}_edits`)} (organization_id, ${ownerOf(resource)}, field)
      select ${organization}, id, field from written, jsonb_array_elements_text(${fields}::jsonb) field order by field)`

export function editedFields({ kind }: Actor, { before, values }: PendingChange): string[] {
  if (kind === 'work') return []
  const edited = before ? values : kind === 'session' ? enteredValues(values) : {}
  return Object.keys(edited).flatMap((name) =>
    name === 'customProperties' ? editedKeys(before?.[name], values[name]) : [name],
  )
}

/** Custom properties are edited one by one. */
function editedKeys(before: JsonValue | undefined, after: JsonValue | undefined): string[] {
  const [old, current] = [objectOf(before), objectOf(after)]
  const keys = new Set([...Object.keys(old), ...Object.keys(current)])
  return [...keys].filter((key) => !isDeepStrictEqual(old[key], current[key])).map((key) => `customProperties.${key}`)
}

/** The values that were entered for a new record, without the empty ones. */
const enteredValues = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)))

/** The values of the tracked fields that the change removes. */
function replacedIn({ id, before, values }: PendingChange, trackedFields: readonly string[]): EditedValue[] {
  if (!before) return []
  return trackedFields.flatMap((field) => {
    if (!(field in values)) return []
    const after = new Set(valueList(values[field]))
    return valueList(before[field]).flatMap((value) => (after.has(value) ? [] : [{ id, field, value }]))
  })
}

function valueList(value: JsonValue | undefined): string[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) return value.map(String)
  return typeof value === 'object'
    ? Object.entries(value).map(([provider, id]) => externalIdText(provider, id))
    : [String(value)]
}

/** Null, an empty list or an empty object: nothing that an import must preserve. */
export const isEmpty = (value: JsonValue | undefined): boolean =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
