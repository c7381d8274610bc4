import { boundedCache } from '../../model/bounded-cache.ts'
import type { Database } from '../../database/database.ts'
import { ApiError } from '../../model/errors.ts'
import { sha256 } from '../../secret/encryption.ts'
import {
  type Allowance,
  allowanceOf,
  createRateLimiter,
  type LocalRateLimiter,
  policyOf,
  type RateKind,
  type RateLimiter,
  type RatePolicy,
} from './rate-limit.ts'
import { deleteFullBuckets, type Grant, returnTokens, takeTokens } from './shared-rate-limit-store.ts'

interface SharedRateLimiterOptions {
  database: Database
  perMinute: number | undefined
}

/** Tokens that this service has taken out of a shared bucket. */
interface Lease {
  readonly id: Buffer
  readonly policy: RatePolicy
  unused: number
  /** What the bucket had for all services, and when, by `performance.now()`. */
  left: number
  leftAt: number
  usedAt: number
  /** The bucket is empty until then. */
  emptyUntil: number
  /** Requests that wait for tokens. */
  waiting: number
  taking: Promise<void> | undefined
}

const maxKeys = 20_000
/** Milliseconds that a public request waits for the database. */
const timeout = 1000
/** Milliseconds after which unused tokens are given back. */
const returnAfter = 1000
const deletionInterval = 60_000

/**
 * Token buckets of all services on one database. A service takes several tokens at a time while a bucket has many, so
 * that few requests wait for the database, and single ones when it has few: the services together never allow more than
 * one would alone. If the database does not answer, requests with a credential get a 503, as they would when they read
 * their records. Public ones, such as those for documents, are limited by the count of this service alone.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #options: SharedRateLimiterOptions
  readonly #own: LocalRateLimiter
  readonly #leases = boundedCache<string, Lease>(maxKeys)
  readonly #timer: NodeJS.Timeout
  #maintaining = Promise.resolve()
  #isUnavailable = false
  #deleteAt = performance.now() + deletionInterval

  constructor(options: SharedRateLimiterOptions) {
    this.#options = options
    this.#own = createRateLimiter(options)
    const maintain = () => (this.#maintaining = this.#maintaining.then(() => this.#maintain()).catch(() => undefined))
    this.#timer = setInterval(maintain, returnAfter).unref()
  }

  async charge(kind: RateKind, key: string): Promise<Allowance> {
    const alone = this.#own.charge(kind, key)
    if (!alone.allowed) return alone
    const lease = this.#leaseOf(kind, key)
    lease.waiting++
    try {
      for (;;) {
        const now = performance.now()
        lease.usedAt = now
        if (lease.unused >= 1) {
          lease.unused--
          return allowanceOf(lease.policy, tokensOf(lease), true)
        }
        if (now < lease.emptyUntil) {
          this.#own.refund(kind, key)
          return allowanceOf(lease.policy, tokensOf(lease), false)
        }
        const isPublic = kind === 'address'
        try {
          // Only one request at a time waits for a database that does not answer.
          if (this.#isUnavailable && lease.taking) throw unavailable()
          const taking = this.#take(lease)
          await (isPublic ? inTime(taking) : taking)
        } catch (error) {
          this.#isUnavailable = true
          if (isPublic) return alone
          throw error
        }
      }
    } finally {
      lease.waiting--
    }
  }

  refund(kind: RateKind, key: string): Allowance {
    this.#own.refund(kind, key)
    const lease = this.#leaseOf(kind, key)
    lease.unused++
    return allowanceOf(lease.policy, tokensOf(lease), true)
  }

  /** Gives back what was taken and not used. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await inTime(this.#maintaining.then(() => this.#giveBack(Infinity))).catch(() => undefined)
  }

  #leaseOf(kind: RateKind, key: string): Lease {
    const policy = policyOf(kind, this.#options.perMinute)
    const name = `${policy.name} ${key}`
    const known = this.#leases.get(name)
    if (known) return known
    const counts = { unused: 0, left: policy.burst, leftAt: 0, usedAt: 0, emptyUntil: 0, waiting: 0 }
    const lease: Lease = { id: sha256(name), policy, ...counts, taking: undefined }
    this.#leases.set(name, lease)
    return lease
  }

  #take(lease: Lease): Promise<void> {
    const { id, policy, waiting } = lease
    lease.taking ??= takeTokens(this.#options.database, id, policy, waiting)
      .then((grant) => {
        this.#isUnavailable = false
        addTokens(lease, grant)
      })
      .finally(() => (lease.taking = undefined))
    // A request that does not wait to the end does not learn of an error.
    lease.taking.catch(() => undefined)
    return lease.taking
  }

  async #giveBack(idleSince: number): Promise<void> {
    const idle = [...this.#leases.values()].filter(({ unused, usedAt }) => unused > 0 && usedAt <= idleSince)
    if (idle.length === 0) return
    const unused = new Map(idle.map((lease) => [lease.id, lease.unused]))
    // If this fails, the tokens are lost until the bucket has refilled.
    for (const lease of idle) {
      lease.left += lease.unused
      lease.unused = 0
    }
    await returnTokens(this.#options.database, unused)
  }

  async #maintain(): Promise<void> {
    const now = performance.now()
    await this.#giveBack(now - returnAfter)
    if (now < this.#deleteAt || this.#leases.size === 0) return
    this.#deleteAt = now + deletionInterval
    await deleteFullBuckets(this.#options.database)
  }
}

function addTokens(lease: Lease, { granted, tokens }: Grant): void {
  const now = performance.now()
  lease.unused += granted
  lease.left = tokens
  lease.leftAt = now
  if (granted === 0) lease.emptyUntil = now + ((1 - tokens) / lease.policy.perSecond) * 1000
}

const unavailable = () =>
  new ApiError('overloaded', 'The database does not answer. Try again.', { headers: { 'retry-after': '1' } })

/** What is left, as far as this service knows. */
function tokensOf({ policy, unused, left, leftAt }: Lease): number {
  const refilled = left + ((performance.now() - leftAt) / 1000) * policy.perSecond
  return Math.min(policy.burst, Math.min(policy.burst, refilled) + unused)
}

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), timeout)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
