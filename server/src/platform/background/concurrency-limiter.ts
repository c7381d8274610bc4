import { ApiError } from '../model/errors.ts'

export interface ConcurrencyLimiterOptions {
  concurrency: number
  /** Maximum tasks waiting, in total. */
  queue: number
  waitMilliseconds: number
  messages?: { full: string; late: string }
}

export interface ConcurrencyLimiter {
  /** Runs `work` once a slot is free; throws `overloaded` (503) if the queue is full or the wait too long. */
  run<Result>(tenantKey: string, work: () => Promise<Result>): Promise<Result>
}

const expensiveQueryMessages = {
  full: 'Too many expensive queries are waiting. Try again later, or narrow this query with filters on indexed fields.',
  late: 'This expensive query waited too long. Try again later, or narrow it with filters on indexed fields.',
}

interface Waiter {
  resume(): void
  reject(reason: Rejection): void
}

interface Tenant {
  running: number
  waiting: Waiter[]
}

/** Why there is no slot: the queue is full, or the wait was too long. */
export type Rejection = 'full' | 'late'

export interface FairSemaphoreOptions {
  concurrency: number
  /** More slots, only for tenants that hold none: nobody waits because others hold all. Default: 0. */
  reserved?: number
  /** The most that one tenant holds while another one has asked within a second. Default: all. */
  share?: number
  /** Maximum waiters, in total. */
  queue: number
  createError: (reason: Rejection) => Error
}

/** Frees the slot; a second call does nothing. */
export type Release = () => void

export interface FairSemaphore {
  /**
   * Acquires a slot, synchronously if one is free, so that the work starts in the same tick. The next free slot goes to
   * the tenant that holds the fewest, then to the one whose last start is the oldest. If the queue is full, a new
   * waiter replaces the newest one of the tenant with the most waiters, if its own tenant has fewer. Rejects with the
   * error from `createError`.
   */
  acquire(tenantKey: string, waitMilliseconds: number): Release | Promise<Release>
}

/** Limits how many expensive tasks run at once. */
export function createConcurrencyLimiter({
  waitMilliseconds,
  messages = expensiveQueryMessages,
  ...options
}: ConcurrencyLimiterOptions): ConcurrencyLimiter {
  const headers = { 'retry-after': `${Math.ceil(waitMilliseconds / 1000)}` }
  const createError = (reason: Rejection) => new ApiError('overloaded', messages[reason], { headers })
  const semaphore = createFairSemaphore({ ...options, createError })
  return {
    async run<Result>(tenantKey: string, work: () => Promise<Result>): Promise<Result> {
      const slot = semaphore.acquire(tenantKey, waitMilliseconds)
      const release = slot instanceof Promise ? await slot : slot
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

/** Limits how many tasks with the same key run at once; tasks with other keys do not wait. */
export function createKeyedLimiter(options: ConcurrencyLimiterOptions): ConcurrencyLimiter {
  const limiters = new Map<string, { limiter: ConcurrencyLimiter; tasks: number }>()
  return {
    async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
      const entry = limiters.get(key) ?? { limiter: createConcurrencyLimiter(options), tasks: 0 }
      limiters.set(key, entry)
      entry.tasks += 1
      try {
        return await entry.limiter.run(key, work)
      } finally {
        entry.tasks -= 1
        if (entry.tasks === 0) limiters.delete(key)
      }
    },
  }
}

export function createFairSemaphore({
  concurrency,
  reserved = 0,
  share = Infinity,
  queue,
  createError,
}: FairSemaphoreOptions): FairSemaphore {
  /** By key: the tenants with running or waiting tasks, in the order of their last start. */
  const tenants = new Map<string, Tenant>()
  let running = 0
  let waiting = 0

  const askers = new Askers()

  const hasSlotFor = (tenantKey: string, tenant: Tenant): boolean =>
    running < concurrency + (tenant.running === 0 ? reserved : 0) &&
    (tenant.running < share || !askers.hasOthers(tenantKey))

  function start(tenantKey: string, tenant: Tenant): void {
    running += 1
    tenant.running += 1
    tenants.delete(tenantKey)
    tenants.set(tenantKey, tenant)
  }

  function finish(tenantKey: string, tenant: Tenant): void {
    running -= 1
    tenant.running -= 1
    removeIfIdle(tenantKey, tenant)
    while (startNext());
  }

  function startNext(): boolean {
    let chosen: [string, Tenant] | undefined
    for (const entry of tenants) {
      if (entry[1].waiting.length > 0 && entry[1].running < (chosen?.[1].running ?? Infinity)) chosen = entry
    }
    if (!chosen || !hasSlotFor(...chosen)) return false
    const [tenantKey, tenant] = chosen
    const waiter = tenant.waiting.shift()
    waiting -= 1
    start(tenantKey, tenant)
    waiter?.resume()
    return true
  }

  function removeIfIdle(tenantKey: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.length === 0) tenants.delete(tenantKey)
  }

  /** Makes room in a full queue for one more waiter of this tenant, if that is fair. */
  function makeRoom(tenant: Tenant): boolean {
    const largest = [...tenants.values()].reduce((currentLargest, other) =>
      other.waiting.length > currentLargest.waiting.length ? other : currentLargest,
    )
    if (largest.waiting.length <= tenant.waiting.length + 1) return false
    largest.waiting.at(-1)?.reject('full')
    return true
  }

  function waitForSlot(tenantKey: string, tenant: Tenant, waitMilliseconds: number): Promise<void> {
    if (waiting >= queue && !makeRoom(tenant)) {
      removeIfIdle(tenantKey, tenant)
      return Promise.reject(createError('full'))
    }
    waiting += 1
    return new Promise((resolve, reject) => {
      const waiter = {
        resume: () => {
          clearTimeout(timer)
          resolve()
        },
        reject: (reason: Rejection) => {
          clearTimeout(timer)
          tenant.waiting.splice(tenant.waiting.indexOf(waiter), 1)
          waiting -= 1
          removeIfIdle(tenantKey, tenant)
          reject(createError(reason))
        },
      }
      const timer = setTimeout(() => waiter.reject('late'), waitMilliseconds)
      tenant.waiting.push(waiter)
    })
  }

  function createRelease(tenantKey: string, tenant: Tenant): Release {
    let isReleased = false
    return () => {
      if (!isReleased) finish(tenantKey, tenant)
      isReleased = true
    }
  }

  return {
    acquire(tenantKey, waitMilliseconds) {
      const tenant = tenants.get(tenantKey) ?? { running: 0, waiting: [] }
      tenants.set(tenantKey, tenant)
      askers.add(tenantKey)
      if (tenant.waiting.length > 0 || !hasSlotFor(tenantKey, tenant))
        return waitForSlot(tenantKey, tenant, waitMilliseconds).then(() => createRelease(tenantKey, tenant))
      start(tenantKey, tenant)
      return createRelease(tenantKey, tenant)
    },
  }
}

/** Milliseconds for which a tenant counts after it has asked. */
const askedRecently = 1000

/** Remembers when the last tenant asked, and when the one before it did. */
class Askers {
  #last = { tenantKey: '', at: -Infinity }
  #otherAt = -Infinity

  /** What belongs to no tenant (an empty key) is next to nobody. */
  add(tenantKey: string): void {
    if (tenantKey === '') return
    if (tenantKey !== this.#last.tenantKey) this.#otherAt = this.#last.at
    this.#last = { tenantKey, at: performance.now() }
  }

  hasOthers(tenantKey: string): boolean {
    const at = this.#last.tenantKey === tenantKey ? this.#otherAt : this.#last.at
    return performance.now() - at < askedRecently
  }
}
