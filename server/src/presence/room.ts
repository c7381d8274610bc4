import { encodeId } from '../platform/model/ids.ts'
import { keyOf, type Presence, type RecordName } from './store.ts'

/** A record that somebody has open. */
export interface OpenRecord extends RecordName {
  /** Whether each person (uuid) edits it. */
  people: ReadonlyMap<string, boolean>
  /** `people` as readers see them. */
  text: string
}

/** What the people of an organization have open. */
export class Room {
  /** As of `readStates`, when the presences were read. */
  state = ''
  records: ReadonlyMap<string, OpenRecord> = new Map()

  #presences: readonly Presence[] = []
  /** Those of people who have access; undefined if they were read again. */
  #visible: readonly Presence[] | undefined

  get sessionIds(): readonly string[] {
    return this.#presences.map(({ sessionId }) => sessionId)
  }

  replace(state: string, presences: readonly Presence[]): void {
    this.state = state
    this.#presences = presences
    this.#visible = undefined
  }

  /** Leaves out those whose session does not give them access any more. Returns the keys of what has changed. */
  update(hasAccess: (presence: Presence) => boolean): string[] {
    const visible = this.#presences.filter(hasAccess)
    // Access ends, and does not come back.
    if (visible.length === this.#visible?.length) return []
    this.#visible = visible
    const before = this.records
    this.records = openRecords(visible)
    const keys = new Set([...before.keys(), ...this.records.keys()])
    return [...keys].filter((key) => before.get(key)?.text !== this.records.get(key)?.text)
  }
}

function openRecords(presences: readonly Presence[]): Map<string, OpenRecord> {
  const found = new Map<string, RecordName & { people: Map<string, boolean> }>()
  for (const { userId, places } of presences) {
    for (const { resource, id, isEditing } of places) {
      const key = keyOf({ resource, id })
      const record = found.get(key) ?? { resource, id, people: new Map<string, boolean>() }
      record.people.set(userId, isEditing || record.people.get(userId) === true)
      found.set(key, record)
    }
  }
  return new Map([...found].map(([key, record]) => [key, { ...record, text: textOf(record.people) }]))
}

/** The people as JSON, apart from the one who reads it. */
export const textOf = (people: ReadonlyMap<string, boolean>, readerId?: string): string =>
  JSON.stringify(
    [...people]
      .filter(([userId]) => userId !== readerId)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([userId, isEditing]) => ({ userId: encodeId('usr', userId), isEditing })),
  )
