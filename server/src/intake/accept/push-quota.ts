import { boundedCache } from '../../platform/model/bounded-cache.ts'
import type { Logger } from 'pino'
import { ApiError } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { alarmingShare, imports } from '../imports/resource.ts'
import type { IntakeDatabase } from './intake-store.ts'
import type { Trigger } from './push.ts'
import { Batches, lookupLimits } from './push-batches.ts'
import { dayLength, dayOf, type ImportDay, readPushedBytes } from './push-quota-store.ts'

export interface PushQuotaOptions {
  database: IntakeDatabase
  /** Bytes that an import may receive in a day (UTC); 0: as many as are sent. */
  maxBytes: number
  log: Logger
  now?: () => number
}

/** What is known of an import on a day. */
interface Usage {
  day: Date
  /** Those in the database when it was last read, and those that this process has taken since. */
  bytes: number
  readAt: number
  /** Whether the log says that the limit is near, and that it is reached. */
  isNear: boolean
  isReached: boolean
}

/** Milliseconds after which the bytes that other processes have accepted are read again. */
const readInterval = 1000
const maxRemembered = 10_000

/**
 * Limits the bytes that an import receives in a day (UTC). The database counts them in the transaction that stores the
 * pushes. A process refuses by what it knows: its own pushes exactly, those of others as of a second ago.
 */
export class PushQuota {
  readonly #options: Required<PushQuotaOptions>
  readonly #usages = boundedCache<string, Usage>(maxRemembered)
  readonly #reads: Batches<ImportDay, number>

  constructor({ now = Date.now, ...options }: PushQuotaOptions) {
    this.#options = { now, ...options }
    this.#reads = new Batches<ImportDay, number>(lookupLimits, (wanted) => readPushedBytes(options.database, wanted))
  }

  /** Error: 429 if the import has received all bytes of today. */
  async check(trigger: Trigger): Promise<void> {
    if (this.#options.maxBytes > 0) this.#assertRoom(trigger, await this.#usageOf(trigger), 1)
  }

  /** Takes bytes from what is left. Error: 429 if it is less. */
  async take(trigger: Trigger, bytes: number): Promise<void> {
    const { maxBytes } = this.#options
    if (maxBytes === 0) return
    const usage = await this.#usageOf(trigger)
    this.#assertRoom(trigger, usage, bytes)
    usage.bytes += bytes
    if (usage.bytes >= alarmingShare * maxBytes) this.#report(trigger, usage, 'isNear')
  }

  /** Of a push that was not stored. */
  giveBack({ importId }: Trigger, bytes: number): void {
    const usage = this.#usages.get(importId)
    if (usage) usage.bytes = Math.max(0, usage.bytes - bytes)
  }

  #assertRoom(trigger: Trigger, usage: Usage, bytes: number): void {
    if (usage.bytes + bytes <= this.#options.maxBytes) return
    this.#report(trigger, usage, 'isReached')
    throw this.#exceeded()
  }

  async #usageOf(trigger: Trigger): Promise<Usage> {
    const { now } = this.#options
    const day = dayOf(now())
    const known = this.#usages.get(trigger.importId)
    if (known && known.day.getTime() === day.getTime()) {
      if (now() - known.readAt >= readInterval) void this.#read(trigger, known).catch(() => undefined)
      return known
    }
    const usage: Usage = { day, bytes: 0, readAt: 0, isNear: false, isReached: false }
    await this.#read(trigger, usage)
    // Another push may have read it meanwhile, and taken from it.
    const other = this.#usages.get(trigger.importId)
    if (other && other.day.getTime() >= day.getTime()) return other
    this.#usages.set(trigger.importId, usage)
    return usage
  }

  /** Bytes that this process has taken may not be stored yet, so the larger number is right. */
  async #read({ organizationId, importId }: Trigger, usage: Usage): Promise<void> {
    usage.readAt = this.#options.now()
    const stored = await this.#reads.add({ organizationId, importId, day: usage.day }, 0)
    usage.bytes = Math.max(usage.bytes, stored)
  }

  /** Once for each import and day. */
  #report({ importId }: Trigger, usage: Usage, what: 'isNear' | 'isReached'): void {
    if (usage[what]) return
    usage[what] = true
    const { log, maxBytes } = this.#options
    const subject = { import: encodeId(imports.idPrefix, importId), bytes: usage.bytes, maxBytes }
    if (what === 'isNear') log.warn(subject, 'an import has received most of the bytes that it may receive today')
    else log.warn(subject, 'an import has received all bytes that it may receive today: its pushes are refused')
  }

  #exceeded(): ApiError {
    const { now, maxBytes } = this.#options
    const seconds = Math.ceil((dayOf(now()).getTime() + dayLength - now()) / 1000)
    const description = `This import may receive ${maxBytes} bytes in a day (UTC), and too few of them are left. Try again in ${seconds} s.`
    return new ApiError('rate_limited', description, { headers: { 'retry-after': String(seconds) } })
  }
}
