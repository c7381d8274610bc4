import { ApiError } from '../model/errors.ts'

export interface ConcurrencyLimiterOptions {
  /** Works at a time. */
  concurrency: number
  /** Works that may wait, in all. */
  queue: number
  waitMilliseconds: number
  /** What a work is told that is refused. */
  messages?: { full: string; late: string }
}

export interface ConcurrencyLimiter {
  /**
   * Runs `work` when its turn comes; `overloaded` (503) when the queue is full or the wait too long, and then `work`
   * was not started. Works of one party share what there is: those of an organization, or of an address.
   */
  run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result>
}

const expensiveQueryMessages = {
  full: 'Too many expensive queries are waiting. Try again later, or narrow this query with filters on indexed fields.',
  late: 'This expensive query waited too long. Try again later, or narrow it with filters on indexed fields.',
}

interface Waiter {
  resume(): void
  refuse(reason: Rejection): void
}

interface Tenant {
  running: number
  waiting: Waiter[]
}

/** Why there is no place: too many wait already, or the wait was too long. */
export type Rejection = 'full' | 'late'

export interface FairSemaphoreOptions {
  /** Places. */
  concurrency: number
  /** How many may wait for one, in all. */
  queue: number
  createError: (reason: Rejection) => Error
}

/** Gives a place back; a second call does nothing. */
export type Release = () => void

export interface FairSemaphore {
  /**
   * What gives a place back: at once where there is one, so that the work begins in this turn of the event loop, else after
   * waiting so many milliseconds at most. Parties share the places: the next
   * one goes to the party that has the fewest, among equals to the one whose last start is longest ago, so that one with
   * fifty waiting delays another's one by a single turn at most. Of a full queue a newcomer takes the newest place of the
   * party that holds most, as long as its own would still hold fewer. Error: what `rejected` says.
   */
  acquire(tenant: string, waitMilliseconds: number): Release | Promise<Release>
}

/** Runs few costly works at a time. */
export function createConcurrencyLimiter({
  waitMilliseconds,
  messages = expensiveQueryMessages,
  ...options
}: ConcurrencyLimiterOptions): ConcurrencyLimiter {
  const headers = { 'retry-after': `${Math.ceil(waitMilliseconds / 1000)}` }
  const createError = (reason: Rejection) => new ApiError('overloaded', messages[reason], { headers })
  const semaphore = createFairSemaphore({ ...options, createError })
  return {
    async run<Result>(tenant: string, work: () => Promise<Result>): Promise<Result> {
      const slot = semaphore.acquire(tenant, waitMilliseconds)
      const release = slot instanceof Promise ? await slot : slot
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}

/** The one queue in front of whatever only so many may use at a time. */
export function createFairSemaphore({ concurrency, queue, createError }: FairSemaphoreOptions): FairSemaphore {
  /** By name, those that run or wait, in the order of their last start. */
  const tenants = new Map<string, Tenant>()
  let running = 0
  let waiting = 0

  function start(name: string, tenant: Tenant): void {
    running += 1
    tenant.running += 1
    tenants.delete(name)
    tenants.set(name, tenant)
  }

  function finish(name: string, tenant: Tenant): void {
    running -= 1
    tenant.running -= 1
    removeIfIdle(name, tenant)
    startNext()
  }

  function startNext(): void {
    let chosen: [string, Tenant] | undefined
    for (const entry of tenants) {
      if (entry[1].waiting.length > 0 && entry[1].running < (chosen?.[1].running ?? Infinity)) chosen = entry
    }
    if (!chosen) return
    const [name, tenant] = chosen
    const waiter = tenant.waiting.shift()
    waiting -= 1
    start(name, tenant)
    waiter?.resume()
  }

  function removeIfIdle(name: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.length === 0) tenants.delete(name)
  }

  /** Makes room in a full queue for one more of `party`, if that is fair. */
  function makeRoom(tenant: Tenant): boolean {
    const largest = [...tenants.values()].reduce((currentLargest, other) =>
      other.waiting.length > currentLargest.waiting.length ? other : currentLargest,
    )
    if (largest.waiting.length <= tenant.waiting.length + 1) return false
    largest.waiting.at(-1)?.refuse('full')
    return true
  }

  function waitForSlot(name: string, tenant: Tenant, waitMilliseconds: number): Promise<void> {
    if (waiting >= queue && !makeRoom(tenant)) {
      removeIfIdle(name, tenant)
      return Promise.reject(createError('full'))
    }
    waiting += 1
    return new Promise((resolve, reject) => {
      const waiter = {
        resume: () => {
          clearTimeout(timer)
          resolve()
        },
        refuse: (reason: Rejection) => {
          clearTimeout(timer)
          tenant.waiting.splice(tenant.waiting.indexOf(waiter), 1)
          waiting -= 1
          removeIfIdle(name, tenant)
          reject(createError(reason))
        },
      }
      const timer = setTimeout(() => waiter.refuse('late'), waitMilliseconds)
      tenant.waiting.push(waiter)
    })
  }

  function createRelease(name: string, tenant: Tenant): Release {
    let isReleased = false
    return () => {
      if (!isReleased) finish(name, tenant)
      isReleased = true
    }
  }

  return {
    acquire(name, waitMilliseconds) {
      const tenant = tenants.get(name) ?? { running: 0, waiting: [] }
      tenants.set(name, tenant)
      if (running >= concurrency)
        return waitForSlot(name, tenant, waitMilliseconds).then(() => createRelease(name, tenant))
      start(name, tenant)
      return createRelease(name, tenant)
    },
  }
}
