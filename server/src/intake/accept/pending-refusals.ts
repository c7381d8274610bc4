import { type Refusal, type RefusalCount, type RefusedSender } from '../refused-pushes/store.ts'
import { maxRefusals } from '../refused-pushes/resource.ts'
import type { Trigger } from './push.ts'

/** What is to be stored about the imports of one organization (uuid). */
export interface PendingBatch {
  organizationId: string
  refusals: Refusal[]
  counts: RefusalCount[]
  senders: RefusedSender[]
}

/** Refused pushes of all imports that wait in memory; of an import, the oldest ones go first. */
const maxWaitingBytes = 8 * 1024 * 1024
/** Stored at a time. */
const maxTaken = { items: 200, bytes: 1024 * 1024 }

/** What a waiting push needs in memory besides its body. */
const overhead = 2048

const quarterOfAnHour = 15 * 60_000

interface PendingImport {
  trigger: Trigger
  refusals: Refusal[]
  counts: Map<string, RefusalCount>
  senders: Map<string, RefusedSender>
}

/** What became of pushes, until it is stored. */
export class PendingRefusals {
  /** Taken in turns, so that none waits for another one's flood. */
  readonly #imports = new Map<string, PendingImport>()
  #bytes = 0

  get isEmpty(): boolean {
    return this.#imports.size === 0
  }

  add(trigger: Trigger, refusal: Refusal): void {
    const { refusals } = this.#of(trigger)
    this.#bytes += bytesOf(refusal)
    refusals.push(refusal)
    if (refusals.length > maxRefusals.items) this.#bytes -= bytesOf(refusals.shift())
    while (this.#bytes > maxWaitingBytes) this.#bytes -= bytesOf(this.#longest().shift())
  }

  /** A flood of one import costs no other one its pushes. */
  #longest(): Refusal[] {
    const all = [...this.#imports.values()].map(({ refusals }) => refusals)
    return all.reduce((longest, one) => (one.length > longest.length ? one : longest))
  }

  count(trigger: Trigger, code: string, at: Date, count = 1): void {
    const { counts } = this.#of(trigger)
    const quarter = new Date(Math.floor(at.getTime() / quarterOfAnHour) * quarterOfAnHour)
    const key = `${code} ${quarter.getTime()}`
    const known = counts.get(key)
    if (known) known.count += count
    else counts.set(key, { importId: trigger.importId, code, quarter, count })
  }

  /** Counts for the sender and for all senders of the import. */
  refuse(trigger: Trigger, { sender, ...last }: { sender: string; at: Date; code: string; message: string }): void {
    const { senders } = this.#of(trigger)
    for (const one of [sender, '']) {
      const { isReset = false, refused = 0 } = senders.get(one) ?? {}
      senders.set(one, { importId: trigger.importId, sender: one, isReset, refused: refused + 1, ...last })
    }
  }

  accept(trigger: Trigger, sender: string): void {
    const { senders } = this.#of(trigger)
    const none = { importId: trigger.importId, isReset: true, refused: 0, at: new Date(), code: '', message: '' }
    for (const one of [sender, '']) senders.set(one, { ...none, sender: one })
  }

  /** Takes a limited number of pushes, and everything else, by organization. */
  take(): PendingBatch[] {
    const batches = new Map<string, PendingBatch>()
    const left: PendingImport[] = []
    let [items, bytes] = [0, 0]
    for (const [key, pending] of [...this.#imports]) {
      const { organizationId } = pending.trigger
      const batch = batches.get(organizationId) ?? { organizationId, refusals: [], counts: [], senders: [] }
      batches.set(organizationId, batch)
      batch.counts.push(...pending.counts.values())
      batch.senders.push(...pending.senders.values())
      this.#imports.delete(key)
      const count = pending.refusals.findIndex(
        (refusal) => ++items > maxTaken.items || (bytes += bytesOf(refusal)) > maxTaken.bytes,
      )
      const taken = count < 0 ? pending.refusals : pending.refusals.slice(0, count)
      const rest = count < 0 ? [] : pending.refusals.slice(count)
      for (const refusal of taken) this.#bytes -= bytesOf(refusal)
      batch.refusals.push(...taken)
      // Imports of which nothing was taken come first next time.
      const next = { ...pending, refusals: rest, counts: new Map(), senders: new Map() }
      if (rest.length > 0) left[taken.length > 0 ? 'push' : 'unshift'](next)
    }
    for (const pending of left) this.#imports.set(pending.trigger.importId, pending)
    return [...batches.values()]
  }

  /** After a failure; what arrived meanwhile is newer. */
  giveBack({ organizationId, refusals, counts, senders }: PendingBatch): void {
    const triggerOf = (importId: string): Trigger => ({ organizationId, importId, hash: Buffer.alloc(0) })
    for (const { importId, code, quarter, count } of counts) this.count(triggerOf(importId), code, quarter, count)
    for (const sender of senders) {
      const known = this.#of(triggerOf(sender.importId)).senders
      const newer = known.get(sender.sender)
      if (!newer) known.set(sender.sender, sender)
      else if (!newer.isReset)
        known.set(sender.sender, { ...newer, isReset: sender.isReset, refused: sender.refused + newer.refused })
    }
    for (const refusal of refusals.toReversed()) {
      if (this.#bytes + bytesOf(refusal) > maxWaitingBytes) continue
      this.#bytes += bytesOf(refusal)
      this.#of(triggerOf(refusal.importId)).refusals.unshift(refusal)
    }
  }

  #of(trigger: Trigger): PendingImport {
    const known = this.#imports.get(trigger.importId)
    if (known) return known
    const none: PendingImport = { trigger, refusals: [], counts: new Map(), senders: new Map() }
    this.#imports.set(trigger.importId, none)
    return none
  }
}

const bytesOf = (refusal: Refusal | undefined): number => (refusal ? refusal.body.length + overhead : 0)
