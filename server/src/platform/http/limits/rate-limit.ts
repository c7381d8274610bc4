import { isIPv6 } from 'node:net'
import type { LRUCache } from 'lru-cache'
import { boundedCache } from '../../model/bounded-cache.ts'

/**
 * What is charged: `read` and `write` by credential, `push` by trigger, the others by address (`addressKey`). `key`
 * counts failed attempts; `password` each attempt that costs a mail or a hash, beforehand.
 */
export type RateKind = 'read' | 'write' | 'push' | 'address' | 'password' | 'key'

/** The result of a charge, with the header values of draft-ietf-httpapi-ratelimit-headers-11. */
export interface Allowance {
  allowed: boolean
  /** The value of `RateLimit-Policy`. */
  policy: string
  /** The value of `RateLimit`. */
  state: string
  /** The value of `Retry-After` in whole seconds, at least 1; 0 if allowed. */
  retryAfterSeconds: number
}

export interface RateLimiter {
  /** Takes a token, or rejects the request and takes none. */
  charge(kind: RateKind, key: string): Allowance | Promise<Allowance>
  /** Returns the token of one charge (for a 304). */
  refund(kind: RateKind, key: string): Allowance | Promise<Allowance>
}

export interface LocalRateLimiter extends RateLimiter {
  charge(kind: RateKind, key: string): Allowance
  refund(kind: RateKind, key: string): Allowance
}

export interface RateLimiterOptions {
  /** Replaces all limits with one bucket of this many requests per minute for each credential, push URL or address. */
  perMinute?: number | undefined
  /** A monotonic clock in milliseconds. */
  now?: () => number
  /** Maximum keys to remember per policy. */
  maxKeys?: number
}

/** The limit of one key. */
export interface RatePolicy {
  name: string
  perSecond: number
  burst: number
}

const policies: Record<RateKind, RatePolicy> = {
  read: { name: 'read', perSecond: 500, burst: 1000 },
  write: { name: 'write', perSecond: 200, burst: 2000 },
  push: { name: 'trigger', perSecond: 100, burst: 1000 },
  address: { name: 'address', perSecond: 300 / 60, burst: 300 },
  password: { name: 'password', perSecond: 20 / 60, burst: 20 },
  key: { name: 'key', perSecond: 300 / 60, burst: 300 },
}

/** Names of the policies that `perMinute` replaces; kinds with the same name share a bucket. */
const commonNames: Record<RateKind, string> = {
  read: 'credential',
  write: 'credential',
  push: 'trigger',
  address: 'address',
  password: 'address',
  key: 'address',
}

export const policyOf = (kind: RateKind, perMinute: number | undefined): RatePolicy =>
  perMinute === undefined ? policies[kind] : { name: commonNames[kind], perSecond: perMinute / 60, burst: perMinute }

/** Token buckets in this process. */
export function createRateLimiter(options: RateLimiterOptions = {}): LocalRateLimiter {
  const { perMinute, now = () => performance.now(), maxKeys = 20_000 } = options
  const byName = new Map<string, Buckets>()
  const bucketsOf = (kind: RateKind): Buckets => {
    const policy = policyOf(kind, perMinute)
    const buckets = byName.get(policy.name) ?? new Buckets(policy, maxKeys, now)
    byName.set(policy.name, buckets)
    return buckets
  }
  const buckets: Record<RateKind, Buckets> = {
    read: bucketsOf('read'),
    write: bucketsOf('write'),
    push: bucketsOf('push'),
    address: bucketsOf('address'),
    password: bucketsOf('password'),
    key: bucketsOf('key'),
  }
  return {
    charge: (kind, key) => buckets[kind].take(key, 1),
    refund: (kind, key) => buckets[kind].take(key, -1),
  }
}

/** The answer to a charge of `count` tokens that leaves `tokens`. */
export function allowanceOf(policy: RatePolicy, tokens: number, allowed: boolean, count = 1): Allowance {
  const { name, perSecond, burst } = policy
  const untilFull = Math.ceil((burst - tokens) / perSecond)
  const untilEnough = allowed ? 0 : Math.max(1, Math.ceil((count - tokens) / perSecond))
  return {
    allowed,
    policy: `"${name}";q=${burst};w=${Math.ceil(burst / perSecond)}`,
    state: `"${name}";r=${Math.floor(tokens)};t=${allowed ? untilFull : untilEnough}`,
    retryAfterSeconds: untilEnough,
  }
}

/** The key for an address: the /64 of an IPv6 address, because a host has a whole /64; mapped IPv4 counts as IPv4. */
export function addressKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':')
    while (groups.length + after.length < 8) groups.push('0')
    groups.push(...after)
  }
  const prefix = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${prefix.join(':')}::/64`
}

interface Bucket {
  tokens: number
  /** When `tokens` was computed, in milliseconds of the clock. */
  at: number
}

/**
 * The buckets of one policy; the least recently used are forgotten. So that this does not bypass the limit, unknown
 * keys start from the emptiest forgotten state (refilled like any bucket).
 */
class Buckets {
  readonly #policy: RatePolicy
  readonly #now: () => number
  readonly #buckets: LRUCache<string, Bucket>
  readonly #forgotten: Bucket

  constructor(policy: RatePolicy, maxKeys: number, now: () => number) {
    this.#policy = policy
    this.#now = now
    this.#forgotten = { tokens: policy.burst, at: now() }
    this.#buckets = boundedCache<string, Bucket>(maxKeys, {
      dispose: (bucket, _key, reason) => {
        if (reason === 'evict') this.#forget(bucket)
      },
    })
  }

  /** Takes `count` tokens if there are enough; a negative count returns tokens. */
  take(key: string, count: number): Allowance {
    const now = this.#now()
    let bucket = this.#buckets.get(key)
    if (bucket) this.#refill(bucket, now)
    else {
      this.#refill(this.#forgotten, now)
      bucket = { ...this.#forgotten }
      this.#buckets.set(key, bucket)
    }
    const allowed = bucket.tokens >= count
    if (allowed) bucket.tokens = Math.min(bucket.tokens - count, this.#policy.burst)
    return allowanceOf(this.#policy, bucket.tokens, allowed, count)
  }

  #refill(bucket: Bucket, now: number): void {
    bucket.tokens = Math.min(this.#policy.burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#policy.perSecond)
    bucket.at = now
  }

  #forget(bucket: Bucket): void {
    const now = this.#now()
    this.#refill(bucket, now)
    this.#refill(this.#forgotten, now)
    this.#forgotten.tokens = Math.min(this.#forgotten.tokens, bucket.tokens)
  }
}
