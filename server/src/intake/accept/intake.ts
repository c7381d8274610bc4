import type { Logger } from 'pino'
import { ApiError, invalidParameters } from '../../platform/model/errors.ts'
import { type Intake, type StoredPush, type Push, type Trigger, TriggerClosed } from './push.ts'
import { newId } from '../../platform/model/ids.ts'
import { Batches, type BatchLimits } from './push-batches.ts'
import {
  type ByteCount,
  findInsertOutcomes,
  type InsertOutcome,
  insertRows,
  type IntakeDatabase,
  type NewRow,
} from './intake-store.ts'
import { OpenImports } from './open-imports.ts'
import { PushQuota } from './push-quota.ts'
import { dayOf, slots } from './push-quota-store.ts'

/**
 * The connection pool of the intake: a connection for each concurrent batch, and one to look up triggers. `deadline` is
 * in milliseconds for a batch; with the maximum time that a push waits in the queue, it adds up to five seconds.
 */
export const intakePool = { size: 3, deadline: 3500 }

const defaultLimits: BatchLimits = {
  items: 500,
  bytes: 4 * 1024 * 1024,
  maxConcurrent: intakePool.size - 1,
  waitingItems: 5000,
  waitingBytes: 64 * 1024 * 1024,
  waitMilliseconds: 1500,
}

export interface IntakeOptions {
  /** A separate pool, so that no other work delays a push. */
  database: IntakeDatabase
  /** Called after each commit with the organizations that have new rows. */
  onAccepted?: (organizationIds: ReadonlySet<string>) => void
  limits?: BatchLimits
  /** Bytes that an import may receive in a day (UTC); 0: as many as are sent. */
  importBytesPerDay: number
  log: Logger
  /** A clock in milliseconds. */
  now?: () => number
}

/** The intake of one process. */
export interface LocalIntake extends Intake {
  /** Resolves when every accepted push is stored or rejected. */
  idle(): Promise<void>
}

/** Stores pushes, many with each insert. */
export const createIntake = (options: IntakeOptions): LocalIntake => new BatchingIntake(options)

class BatchingIntake implements LocalIntake {
  readonly #database: IntakeDatabase
  readonly #onAccepted: (organizationIds: ReadonlySet<string>) => void
  readonly #imports: OpenImports
  readonly #batches: Batches<NewRow, StoredPush>
  readonly #quota: PushQuota
  readonly #countNow: () => ByteCount
  /** Pushes with a key that are in progress, by import and key. */
  readonly #keyed = new Map<string, { requestHash: Buffer; outcome: Promise<StoredPush> }>()

  constructor(options: IntakeOptions) {
    const { database, onAccepted = () => undefined, limits = defaultLimits, importBytesPerDay: maxBytes, log } = options
    const { now = Date.now } = options
    this.#database = database
    this.#quota = new PushQuota({ database, maxBytes, log, now })
    // Each process begins at another slot.
    let counted = process.pid
    this.#countNow = () => ({ day: dayOf(now()), slot: counted++ % slots, maxBytes: maxBytes || null })
    this.#onAccepted = onAccepted
    this.#imports = new OpenImports(database)
    this.#batches = new Batches(limits, (rows) => this.#storeAll(rows))
  }

  find(importId: string, secret: string): Promise<Trigger | undefined> {
    return this.#imports.find(importId, secret)
  }

  isOpen(trigger: Trigger): Promise<boolean> {
    return this.#imports.isOpen(trigger)
  }

  checkQuota(trigger: Trigger): Promise<void> {
    return this.#quota.check(trigger)
  }

  idle(): Promise<void> {
    return this.#batches.idle()
  }

  async store(trigger: Trigger, push: Push): Promise<StoredPush> {
    try {
      return await (push.key ? this.#storeOnce(trigger, push, push.key) : this.#add(trigger, push))
    } catch (error) {
      if (error instanceof TriggerClosed) this.#imports.forget(trigger)
      throw error
    }
  }

  /** Of concurrent pushes with the same key, one goes to the database; the others wait for its outcome. */
  async #storeOnce(trigger: Trigger, push: Push, key: NonNullable<Push['key']>): Promise<StoredPush> {
    const name = `${trigger.importId} ${key.keyHash.toString('base64')}`
    for (;;) {
      const earlier = this.#keyed.get(name)
      if (!earlier) break
      const stored = await earlier.outcome.catch(() => undefined)
      if (stored && !earlier.requestHash.equals(key.requestHash)) throw keyReused()
      if (stored) return { ...stored, isReplay: true }
    }
    const outcome = this.#add(trigger, push)
    this.#keyed.set(name, { requestHash: key.requestHash, outcome })
    try {
      return await outcome
    } finally {
      this.#keyed.delete(name)
    }
  }

  async #add(trigger: Trigger, push: Push): Promise<StoredPush> {
    const { organizationId, importId, hash } = trigger
    const parameters = JSON.stringify(push.parameters)
    const bytes = push.payload.length + Buffer.byteLength(parameters)
    await this.#quota.take(trigger, bytes)
    const row = { ...push, id: newId(), organizationId, importId, triggerHash: hash, parameters, bytes }
    let isNew = false
    try {
      const stored = await this.#batches.add(row, bytes, organizationId)
      isNew = !stored.isReplay
      return stored
    } finally {
      if (!isNew) this.#quota.giveBack(trigger, bytes)
    }
  }

  async #storeAll(rows: readonly NewRow[]): Promise<(StoredPush | Error)[]> {
    const inserted = await insertRows(this.#database, rows, this.#countNow())
    const others = rows.filter(({ id }) => !inserted.has(id))
    // The inserted rows are durable: an error here concerns only the others.
    const insertOutcomes =
      others.length === 0 ? noOutcomes : await findInsertOutcomes(this.#database, others).catch(toError)
    const outcomes = rows.map(({ id }): StoredPush | Error => {
      const result = inserted.get(id)
      if (result instanceof Error) return result
      if (result) return { id, createdAt: result, isReplay: false }
      return insertOutcomes instanceof Error ? insertOutcomes : outcomeOf(id, insertOutcomes.get(id))
    })
    const isNew = (outcome: StoredPush | Error | undefined) =>
      outcome && !(outcome instanceof Error) && !outcome.isReplay
    const accepted = new Set(rows.filter((_, index) => isNew(outcomes[index])).map((row) => row.organizationId))
    if (accepted.size > 0) this.#onAccepted(accepted)
    return outcomes
  }
}

const noOutcomes: Map<string, InsertOutcome | ApiError> = new Map()

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

function outcomeOf(id: string, insertOutcome: InsertOutcome | ApiError | undefined): StoredPush | Error {
  if (insertOutcome instanceof ApiError) return insertOutcome
  switch (insertOutcome?.kind) {
    case 'stored':
      return { id, createdAt: insertOutcome.createdAt, isReplay: false }
    case 'replay':
      return { id: insertOutcome.id, createdAt: insertOutcome.createdAt, isReplay: true }
    case 'key reused':
      return keyReused()
    case 'closed':
      return new TriggerClosed()
    default:
      return new ApiError('overloaded', 'The import has just been changed.', { headers: { 'retry-after': '1' } })
  }
}

const keyReused = () =>
  invalidParameters([
    { field: 'Idempotency-Key', message: 'was used for a different push; use a new key for each push' },
  ])
