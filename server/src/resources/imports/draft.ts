import { isDeepStrictEqual } from 'node:util'
import { isEmpty } from '../../platform/resource/edits.ts'
import { type AnyRow, initialOf, type Resource } from '../../platform/resource/define.ts'
import type { JsonObject, JsonValue } from '../../platform/resource/fields.ts'
import { showId } from '../../platform/resource/ids.ts'
import type { Change } from '../../platform/resource/write.ts'
import type { MergePolicy } from './resource.ts'

/** What a row did to one record, as callers read it. */
export interface RowChange {
  object: string
  id: string
  action: 'created' | 'updated'
  before: AnyRow
  after: AnyRow
}

/** A record as the rows of a batch see it, one after the other, before anything is written. */
export class Draft {
  readonly resource: Resource
  /** The uuid, also of a record that is yet to be made. */
  readonly id: string
  /** Fields that no import overwrites, nor fills again once they were cleared. */
  readonly edits: ReadonlySet<string>
  readonly #isNew: boolean
  /** Columns that no field sets. */
  #columns: Record<string, JsonValue>
  #state: AnyRow
  #values: AnyRow = {}

  constructor(
    resource: Resource,
    id: string,
    given: { state: AnyRow; edits?: ReadonlySet<string> } | { columns: Record<string, JsonValue> },
  ) {
    this.resource = resource
    this.id = id
    this.#isNew = 'columns' in given
    this.#columns = 'columns' in given ? given.columns : {}
    this.#state = 'columns' in given ? initialOf(resource) : given.state
    this.edits = ('edits' in given && given.edits) || new Set()
  }

  /** The record as it is by now. */
  get state(): Readonly<AnyRow> {
    return this.#state
  }

  /**
   * Takes the values in and tells what changed; undefined when nothing did. Values that break a rule between fields
   * must not come here: the reader of the payload has left them out.
   */
  take(values: AnyRow): RowChange | undefined {
    const isMade = this.#isNew && Object.keys(this.#values).length === 0
    const whole = isMade ? { ...this.#state, ...values } : values
    const prepared = this.resource.prepare?.(whole, isMade ? undefined : this.#state)
    const [fault] = prepared?.faults ?? []
    if (fault) throw new Error(`${this.resource.singular}: ${fault.field} ${fault.message}`)
    const changed = Object.fromEntries(
      Object.entries(prepared?.values ?? whole).filter(([name, value]) => !isSame(this.#state[name], value)),
    )
    const names = Object.keys(changed)
    if (names.length === 0 && !isMade) return undefined
    const before = isMade ? {} : Object.fromEntries(names.map((name) => [name, this.#state[name] ?? null]))
    this.#state = { ...this.#state, ...changed }
    this.#values = { ...this.#values, ...changed }
    const { singular, idPrefix } = this.resource
    return {
      object: singular,
      id: showId(idPrefix, this.id),
      action: isMade ? 'created' : 'updated',
      before,
      after: changed,
    }
  }

  /** Something happened with the record beside its fields: where it is written anyway, these columns are too. */
  along(columns: Record<string, JsonValue>): void {
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
const sameFact: Record<string, readonly string[]> = { name: ['name', 'firstName', 'lastName'] }

/**
 * Which of the incoming values a record takes: what is empty is filled, and with `overwrite` what holds something is
 * replaced; never what a person has changed, not even to nothing. Tags and external ids are added to those there are;
 * `leftOut` is told the field that would then hold more than it may.
 */
export function mergeable(
  { resource, state, edits }: Draft,
  incoming: AnyRow,
  policy: MergePolicy,
  leftOut: (name: string) => void,
): AnyRow {
  const isEdited = (name: string) => (sameFact[name] ?? [name]).some((other) => edits.has(other))
  const taken: AnyRow = {}
  for (const [name, value] of Object.entries(incoming)) {
    const present = state[name]
    const replaces = policy === 'overwrite' && !isEdited(name)
    const merged = mergedOf(name, { present, value, replaces })
    if (merged !== undefined && !fits(resource, name, merged)) leftOut(name)
    else if (merged !== undefined) taken[name] = merged
    else if (replaces || (isEmpty(present) && !isEdited(name))) taken[name] = value
  }
  return taken
}

interface Meeting {
  present: JsonValue | undefined
  value: JsonValue
  replaces: boolean
}

/** What is added to, rather than replaced. */
function mergedOf(name: string, { present, value, replaces }: Meeting): JsonValue | undefined {
  if (name === 'tags') return union(present, value)
  if (name === 'externalIds') return replaces ? both(present, value) : both(value, present)
  return undefined
}

/** May the field hold as many? */
function fits({ fields }: Resource, name: string, value: JsonValue): boolean {
  const { maxItems, maxProperties } = fields[name]?.schema ?? {}
  const most = Number((Array.isArray(value) ? maxItems : maxProperties) ?? Infinity)
  return Object.keys(value ?? {}).length <= most
}

const union = (present: JsonValue | undefined, value: JsonValue): JsonValue => [
  ...new Set([...listOf(present), ...listOf(value)]),
]

/** The members of both, the second one's where both have one. */
const both = (first: JsonValue | undefined, second: JsonValue | undefined): JsonObject => ({
  ...objectOf(first),
  ...objectOf(second),
})

export const objectOf = (value: JsonValue | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}

const listOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : [])
