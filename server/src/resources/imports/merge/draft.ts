import { isDeepStrictEqual } from 'node:util'
import { Edits, externalIdText, isEmpty } from '../../../platform/resource/edits.ts'
import { initialValues, type Resource } from '../../../platform/model/define.ts'
import type { JsonObject, JsonValue } from '../../../platform/model/fields.ts'
import { showId } from '../../../platform/model/ids.ts'
import type { Change } from '../../../platform/resource/write.ts'
import { isStored } from './equality.ts'
import type { MergePolicy } from '../resource.ts'

/** What a row did to one record, as callers read it. */
export interface RowChange {
  object: string
  id: string
  action: 'created' | 'updated'
  before: JsonObject
  after: JsonObject
}

const noEdits = new Edits()

/** A record as the rows of a batch see it, one after the other, before anything is written. */
export class Draft {
  readonly resource: Resource
  /** The uuid, also of a record that is yet to be made. */
  readonly id: string
  /** What no import overwrites, nor adds again once it was removed. */
  readonly edits: Edits
  readonly #isNew: boolean
  /** Columns that no field sets. */
  #columns: Record<string, JsonValue>
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

  /** The record as it is by now. */
  get state(): Readonly<JsonObject> {
    return this.#state
  }

  /**
   * Takes the values in and tells what changed; undefined when nothing did. Values that break a rule between fields
   * must not come here: the reader of the payload has left them out.
   */
  apply(values: JsonObject): RowChange | undefined {
    const isCreation = this.#isNew && Object.keys(this.#values).length === 0
    const complete = isCreation ? { ...this.#state, ...values } : values
    const prepared = this.resource.prepare?.(complete, isCreation ? undefined : this.#state)
    const [fault] = prepared?.faults ?? []
    if (fault) throw new Error(`${this.resource.singular}: ${fault.field} ${fault.message}`)
    const changed = Object.fromEntries(
      Object.entries(prepared?.values ?? complete).filter(([name, value]) => !isSame(this.#state[name], value)),
    )
    const names = Object.keys(changed)
    if (names.length === 0 && !isCreation) return undefined
    const before = isCreation ? {} : Object.fromEntries(names.map((name) => [name, this.#state[name] ?? null]))
    this.#state = { ...this.#state, ...changed }
    this.#values = { ...this.#values, ...changed }
    const { singular, idPrefix } = this.resource
    return {
      object: singular,
      id: showId(idPrefix, this.id),
      action: isCreation ? 'created' : 'updated',
      before,
      after: changed,
    }
  }

  /** Something happened with the record beside its fields: where it is written anyway, these columns are too. */
  addColumns(columns: Record<string, JsonValue>): void {
    this.#columns = { ...this.#columns, ...columns }
  }

  /** What is to be written in the end, if anything. */
  get change(): Change | undefined {
    const [values, columns] = [this.#values, this.#columns]
    if (Object.keys(values).length === 0) return undefined
    return this.#isNew
      ? { kind: 'create', id: this.id, values, columns }
      : { kind: 'update', id: this.id, values, columns: () => columns }
  }
}

/** Most values are plain: a new record has three dozen fields, of which a payload says a few. */
const isSame = (one: JsonValue | undefined, other: JsonValue): boolean => one === other || isDeepStrictEqual(one, other)

/** Both parts of a name are protected by an edit of either. */
const relatedFields: Record<string, readonly string[]> = { name: ['name', 'firstName', 'lastName'] }

/** Why a record did not take a value: it has another one, a person changed or removed it, or there is no room for it. */
export type Reason = 'present' | 'edited' | 'full'

/** A value that a record did not take; of external ids the provider's. */
export interface NotStored {
  field: string
  provider?: string
  reason: Reason
}

/** Which of the incoming values a record takes, and which it does not although they say something else. */
export interface Merge {
  accepted: JsonObject
  notStored: NotStored[]
}

/**
 * What is empty is filled, and with `overwrite` what holds something is replaced; never what a person has changed, not
 * even to nothing. Tags and external ids are added to those there are, except those that a person removed.
 */
export function merge(draft: Draft, incoming: JsonObject, policy: MergePolicy): Merge {
  const merged: Merge = { accepted: {}, notStored: [] }
  for (const [name, value] of Object.entries(incoming)) {
    if (name === 'tags') addTags(draft, value, merged)
    else if (name === 'externalIds') addExternalIds(draft, value, merged)
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

/** A provider that the record has another id of contradicts it, so such a push does not come here. */
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

/** How many items or properties the field may hold. */
function maxEntries({ fields }: Resource, name: string): number {
  const { maxItems, maxProperties } = fields[name]?.schema ?? {}
  return Number(maxItems ?? maxProperties ?? Infinity)
}

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

const listOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : [])
