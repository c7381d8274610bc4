import type { Connection } from '../platform/database/database.ts'
import { encodeId } from '../platform/model/ids.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { isBounded } from '../platform/records/filter/scope.ts'
import { scopeOf } from '../platform/records/page/read.ts'
import { type Room, textOf } from './room.ts'
import { findReached } from './reach-store.ts'
import { keyOf, type RecordName } from './store.ts'

export interface Viewed {
  db: Connection
  userId: string
  /** Those that the caller may list and wants to follow. */
  resources: readonly Resource[]
  /** Uuids; undefined for all. */
  recordIds: readonly string[] | undefined
  /** Called when there is something to take. */
  onNews: () => void
}

/** Milliseconds after which a record that is shown may have left the person's reach. */
const checkInterval = 10_000
const nobody = '[]'

/** A stream that shows who else has which records open, as far as its person may know. */
export class Viewer {
  readonly organizationId: string
  /** Does it take a statement to know whether the person may see a record of these? */
  readonly isBounded: boolean
  readonly #viewed: Viewed
  readonly #resources: ReadonlyMap<string, Resource>
  readonly #bounded: ReadonlySet<string>
  readonly #recordIds: ReadonlySet<string> | undefined
  /** Keys of records that may have to be shown in another way. Undefined: all of them, at the beginning. */
  #changed: Set<string> | undefined
  #shown = new Map<string, { recordId: string; text: string }>()
  #news = new Map<string, string>()
  #hasBegun = false
  #checkedAt = 0

  constructor(viewed: Viewed) {
    const { db, resources, recordIds } = viewed
    this.organizationId = db.organizationId
    this.#viewed = viewed
    this.#resources = new Map(resources.map((resource) => [resource.singular, resource]))
    const bounded = resources.filter((resource) => isBounded(resource, scopeOf(db, undefined)))
    this.#bounded = new Set(bounded.map(({ singular }) => singular))
    this.isBounded = bounded.length > 0
    this.#recordIds = recordIds && new Set(recordIds)
  }

  mark(keys: readonly string[]): void {
    for (const key of keys) this.#changed?.add(key)
  }

  /** Is there anything to do for `update`? */
  isDue(room: Room, now: number): boolean {
    if (this.#changed === undefined || this.#changed.size > 0) return true
    return this.isBounded && room.records.size > 0 && now - this.#checkedAt >= checkInterval
  }

  async update(room: Room, now: number): Promise<void> {
    const isWhole = this.#changed === undefined || (this.isBounded && now - this.#checkedAt >= checkInterval)
    const keys = isWhole ? new Set([...room.records.keys(), ...this.#shown.keys()]) : (this.#changed ?? [])
    const records = [...keys].flatMap((key) => room.records.get(key) ?? []).filter((record) => this.#wants(record))
    const asked = records.filter(({ resource }) => this.#bounded.has(resource))
    const reached = await findReached(this.#viewed.db, this.#resources.values(), asked)
    this.#changed = new Set()
    if (isWhole) this.#checkedAt = now
    const visible = new Map(
      records
        .filter((record) => !this.#bounded.has(record.resource) || reached.has(keyOf(record)))
        .map((record) => [keyOf(record), record]),
    )
    for (const key of keys) {
      const record = visible.get(key)
      const isOwn = record?.people.has(this.#viewed.userId) === true
      const text = record === undefined ? nobody : isOwn ? textOf(record.people, this.#viewed.userId) : record.text
      const before = this.#shown.get(key)
      if (text === (before?.text ?? nobody)) continue
      const recordId = before?.recordId ?? (record && this.#shownId(record)) ?? ''
      this.#news.set(recordId, text)
      if (text === nobody) this.#shown.delete(key)
      else this.#shown.set(key, { recordId, text })
    }
    if (this.#news.size > 0 || !this.#hasBegun) this.#viewed.onNews()
  }

  /** What has changed since the last time; at first everything, even if that is nothing. */
  take(): string | undefined {
    if (this.#changed === undefined || (this.#news.size === 0 && this.#hasBegun)) return undefined
    const records = [...this.#news].map(([recordId, people]) => `{"recordId":"${recordId}","people":${people}}`)
    const text = `{"isComplete":${String(!this.#hasBegun)},"records":[${records.join(',')}]}`
    this.#hasBegun = true
    this.#news = new Map()
    return text
  }

  #wants({ resource, id }: RecordName): boolean {
    return this.#resources.has(resource) && this.#recordIds?.has(id) !== false
  }

  #shownId({ resource, id }: RecordName): string {
    return encodeId(this.#resources.get(resource)?.idPrefix ?? '', id)
  }
}
