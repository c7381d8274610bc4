import { isDeepStrictEqual } from 'node:util'
import { Edits, externalIdText, isEmpty } from '../../platform/records/write/edits.ts'
import { mergePatch } from '../../platform/records/declare/json-objects.ts'
import { initialValues, type Resource } from '../../platform/records/declare/define.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { isStored } from './equality.ts'
import type { MergePolicy } from '../imports/resource.ts'
import type { Change, Origin } from '../../platform/records/declare/changes.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** A change of one record by a row, as shown to callers. */
export interface RowChange {
  object: string
  id: string
  action: 'created' | 'updated'
  before: JsonObject
  after: JsonObject
}

const noEdits = new Edits()

/** The state of a record during a batch: each row sees the changes of the previous ones, before anything is written. */
export class Draft {
  readonly resource: Resource
  /** Uuid, also of a record that is yet to be created. */
  readonly id: string
  /** Edits by people: imports neither overwrite them nor add removed values again. */
  readonly edits: Edits
  readonly #isNew: boolean
  /** Columns that are not set by a field. */
  #columns: Record<string, JsonValue>
  /** The last row that changed the record. */
  #origin: Origin | undefined
  #state: JsonObject
  #values: JsonObject = {}

  constructor(
    resource: Resource,
    id: string,
    given: { state: JsonObject; edits?: Edits | undefined } | { columns: Record<string, JsonValue> },
  ) {
    this.resource = resource
    this.id = id
    this.#isNew = 'columns' in given
    this.#columns = 'columns' in given ? given.columns : {}
    this.#state = 'columns' in given ? initialValues(resource) : given.state
    this.edits = ('edits' in given && given.edits) || noEdits
  }

  /** The current state of the record. */
  get state(): Readonly<JsonObject> {
    return this.#state
  }

  /**
   * Applies the values and returns the change; undefined if nothing changed. Values must not violate rules between
   * fields: the payload reader leaves such values out.
   */
  apply(values: JsonObject, origin?: Origin): RowChange | undefined {
    const isCreation = this.#isNew && Object.keys(this.#values).length === 0
    const complete = isCreation ? { ...this.#state, ...values } : values
    const prepared = this.resource.prepare?.(complete, isCreation ? undefined : this.#state)
    const [error] = prepared?.errors ?? []
    if (error) throw new Error(`${this.resource.singular}: ${error.field} ${error.message}`)
    const changed = Object.fromEntries(
      Object.entries(prepared?.values ?? complete).filter(([name, value]) => !isSame(this.#state[name], value)),
    )
    const names = Object.keys(changed)
    if (names.length === 0 && !isCreation) return undefined
    const before = isCreation ? {} : Object.fromEntries(names.map((name) => [name, this.#state[name] ?? null]))
    this.#state = { ...this.#state, ...changed }
    this.#values = { ...this.#values, ...changed }
    this.#origin = origin
    const { singular, idPrefix } = this.resource
    return {
      object: singular,
      id: encodeId(idPrefix, this.id),
      action: isCreation ? 'created' : 'updated',
      before,
      after: changed,
    }
  }

  /** Adds columns to the write of this record, if there is one. */
  addColumns(columns: Record<string, JsonValue>): void {
    this.#columns = { ...this.#columns, ...columns }
  }

  /** The change to write, if any. */
  get change(): Change | undefined {
    const [values, columns] = [this.#values, this.#columns]
    if (Object.keys(values).length === 0) return undefined
    const origin = this.#origin && { origin: this.#origin }
    return this.#isNew
      ? { kind: 'create', id: this.id, values, columns, ...origin }
      : { kind: 'update', id: this.id, values, columns: () => columns, ...origin }
  }
}

/** The fast path matters: a new record has three dozen fields, of which a payload sets a few. */
const isSame = (one: JsonValue | undefined, other: JsonValue): boolean => one === other || isDeepStrictEqual(one, other)

/** A name is protected by an edit of either part. */
const relatedFields: Record<string, readonly string[]> = {
  name: ['name', 'firstName', 'lastName'],
  firstName: ['name', 'firstName'],
  lastName: ['name', 'lastName'],
}

/** Why a record did not accept a value: it has a different one, a person edited it, or the field is full. */
export type Reason = 'present' | 'edited' | 'full'

/** A value that a record did not accept; for external ids, with the provider. */
export interface NotStored {
  field: string
  provider?: string
  reason: Reason
}

/** Incoming values that a record accepts, and those that it rejects although they differ. */
export interface Merge {
  accepted: JsonObject
  notStored: NotStored[]
}

/**
 * Fills empty fields and, with `overwrite`, replaces existing values; never a value that a person has changed or
 * removed. Tags and external ids are added to existing ones, except those that a person removed.
 */
export function merge(draft: Draft, incoming: JsonObject, policy: MergePolicy): Merge {
  const merged: Merge = { accepted: {}, notStored: [] }
  for (const [name, value] of Object.entries(incoming)) {
    if (name === 'tags') addTags(draft, value, merged)
    else if (name === 'externalIds') addExternalIds(draft, value, merged)
    else if (name === 'customProperties') addProperties(draft, value, policy, merged)
    else mergeField(draft, { name, value, policy }, merged)
  }
  return merged
}

function mergeField(
  { state, edits }: Draft,
  { name, value, policy }: { name: string; value: JsonValue; policy: MergePolicy },
  { accepted, notStored }: Merge,
): void {
  const present = state[name]
  const isEdited = (relatedFields[name] ?? [name]).some((other) => edits.has(other))
  if (!isEdited && (policy === 'overwrite' || isEmpty(present))) accepted[name] = value
  else if (!isStored(name, present, value)) notStored.push({ field: name, reason: isEdited ? 'edited' : 'present' })
}

function addTags({ resource, state, edits }: Draft, value: JsonValue, { accepted, notStored }: Merge): void {
  const present = listOf(state.tags)
  const absent = listOf(value).filter((tag) => !present.includes(tag))
  const added = absent.filter((tag) => !edits.hasValue('tags', String(tag)))
  if (added.length < absent.length) notStored.push({ field: 'tags', reason: 'edited' })
  if (added.length === 0) return
  if (present.length + added.length > maxEntries(resource, 'tags')) notStored.push({ field: 'tags', reason: 'full' })
  else accepted.tags = [...present, ...added]
}

/** Pushes that contradict an external id of the record are conflicts and never get here. */
function addExternalIds({ resource, state, edits }: Draft, value: JsonValue, { accepted, notStored }: Merge): void {
  const present = objectOf(state.externalIds)
  const added: JsonObject = {}
  for (const [provider, id] of Object.entries(objectOf(value))) {
    if (Object.hasOwn(present, provider)) continue
    if (edits.hasValue('externalIds', externalIdText(provider, id)))
      notStored.push({ field: 'externalIds', provider, reason: 'edited' })
    else if (Object.keys(present).length + Object.keys(added).length >= maxEntries(resource, 'externalIds'))
      notStored.push({ field: 'externalIds', provider, reason: 'full' })
    else added[provider] = id
  }
  if (Object.keys(added).length > 0) accepted.externalIds = { ...present, ...added }
}

/** Each custom property is merged like a field; an edit from before they were tracked one by one protects all. */
function addProperties(
  { resource, state, edits }: Draft,
  value: JsonValue,
  policy: MergePolicy,
  { accepted, notStored }: Merge,
): void {
  const name = 'customProperties'
  const present = objectOf(state[name])
  const added: JsonObject = {}
  for (const [key, item] of Object.entries(objectOf(value))) {
    const before = Object.hasOwn(present, key) ? (present[key] ?? null) : null
    const isEdited = edits.has(name) || edits.has(`${name}.${key}`)
    if (!isEdited && (policy === 'overwrite' || isEmpty(before))) added[key] = mergePatch(before, item)
    else if (!isSame(before, item)) notStored.push({ field: `${name}.${key}`, reason: isEdited ? 'edited' : 'present' })
  }
  if (Object.keys(added).length === 0) return
  const whole = { ...present, ...added }
  const checked = resource.fields[name]?.checkMerged?.(whole)
  if (checked && 'error' in checked)
    notStored.push(...Object.keys(added).map((key) => ({ field: `${name}.${key}`, reason: 'full' as const })))
  else accepted[name] = whole
}

/** Maximum number of items or properties of the field. */
function maxEntries({ fields }: Resource, name: string): number {
  const { maxItems, maxProperties } = fields[name]?.schema ?? {}
  return Number(maxItems ?? maxProperties ?? Infinity)
}

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

const listOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : [])
