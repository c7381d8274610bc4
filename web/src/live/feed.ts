import { apiOrigin, authorizedFetch } from '../api/session.ts'
import { blocksOf } from './event-stream.ts'
import { eventOf, type SharedEvent } from './events.ts'
import type { PeopleEvent } from './people.ts'

/** Milliseconds during which events are collected. */
const batchTime = 250
/** The service sends something every 15 s. After this time, the connection is dead although nobody has closed it. */
const maxSilence = 40_000
/** After a longer time without a stream, loading everything again is cheaper than all events since. */
const maxGap = 5 * 60_000
/** A stream that lasts shorter counts as a failure. */
const minLife = 5000
const firstPause = 500
/** How far back the service looks. */
const maxSecondsAgo = 600
const maxPause = 30_000

/** Events that follow each other, and the positions before and after them. */
export interface Batch {
  from: string
  to: string
  events: readonly SharedEvent[]
}

const get = (path: string, signal: AbortSignal): Promise<Response> =>
  authorizedFetch(new Request(`${apiOrigin}/v5/events/${path}`, { signal, cache: 'no-store' }))

interface Receiver {
  onBatch(batch: Batch): void
  /** Events before this position may be missing. */
  onLoss(position: string): void
  /** The person may not follow events. */
  onRefused(): void
  onPeople(event: PeopleEvent): void
  /** The service has sent something, which it does every 15 s, also while timers of a hidden tab rest. */
  onHeard(): void
}

/** The one connection of a browser to the feed: reads events, and connects again behind the last one. */
export class FeedConnection {
  position: string | undefined
  readonly #receiver: Receiver
  readonly #since: number
  #isStopped = false
  #connection = new AbortController()
  #heardAt = Date.now()
  #watchdog: ReturnType<typeof setTimeout> | undefined
  #endPause: () => void = () => undefined

  /** `since`: when the first data were requested. */
  constructor({ position, since }: { position: string | undefined; since: number }, receiver: Receiver) {
    this.position = position
    this.#since = since
    this.#receiver = receiver
    addEventListener('online', this.#connectAgain)
    document.addEventListener('visibilitychange', this.#wake)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#watchdog)
    removeEventListener('online', this.#connectAgain)
    document.removeEventListener('visibilitychange', this.#wake)
    this.#connectAgain()
  }

  /** Runs until it is stopped, or the service refuses the person. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#isStopped;) {
      const begun = Date.now()
      this.#connection = new AbortController()
      try {
        if (!(await this.#connect(this.#connection.signal))) return
        failures = Date.now() - begun < minLife ? failures + 1 : 0
      } catch {
        failures++
      }
      if (!this.#isStopped) await this.#pause(failures)
    }
  }

  /** One connection; false if the service refuses the person. */
  async #connect(signal: AbortSignal): Promise<boolean> {
    const isTooLate = Date.now() - this.#heardAt > maxGap
    if (this.position === undefined || isTooLate) return this.#begin(signal)
    const response = await get(`stream?after=${encodeURIComponent(this.position)}`, signal)
    if (response.ok && response.body) {
      await this.#read(response.body)
      return true
    }
    await response.body?.cancel()
    return response.status === 410 ? this.#begin(signal) : this.#isAllowed(response)
  }

  /** Starts to follow now, possibly after a gap. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    const isGap = this.position !== undefined
    // What happened meanwhile may be missing in the first data. After a gap, everything is read again.
    const seconds = Math.min(maxSecondsAgo, Math.ceil((Date.now() - this.#since) / 1000) + 1)
    const response = await get(isGap ? 'position' : `position?secondsAgo=${seconds}`, signal)
    if (!response.ok) {
      await response.body?.cancel()
      return this.#isAllowed(response)
    }
    const { position } = (await response.json()) as { position: string }
    this.position = position
    this.#heardAt = Date.now()
    if (isGap) this.#receiver.onLoss(position)
    return this.#connect(signal)
  }

  #isAllowed({ status }: Response): boolean {
    if (status === 403) this.#receiver.onRefused()
    if (status === 401 || status === 403) return false
    throw new Error(`The feed answered ${status}.`)
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let events: SharedEvent[] = []
    let reached = this.position
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = () => {
      timer = undefined
      const [from, to] = [this.position, reached]
      if (this.#isStopped || from === undefined || to === undefined || (from === to && events.length === 0)) return
      this.position = to
      this.#receiver.onBatch({ from, to, events })
      events = []
    }
    try {
      this.#heard()
      for await (const { id, event, data } of blocksOf(body)) {
        this.#heard()
        reached = id ?? reached
        if (event === 'presence') this.#receiver.onPeople(JSON.parse(data) as PeopleEvent)
        else if (data !== '') events.push(eventOf(event, data))
        if (reached !== this.position || events.length > 0) timer ??= setTimeout(flush, batchTime)
      }
    } finally {
      clearTimeout(timer)
      clearTimeout(this.#watchdog)
      flush()
    }
  }

  #heard(): void {
    this.#heardAt = Date.now()
    clearTimeout(this.#watchdog)
    this.#watchdog = setTimeout(this.#connectAgain, maxSilence)
    this.#receiver.onHeard()
  }

  readonly #connectAgain = (): void => {
    this.#connection.abort()
    this.#endPause()
  }

  /** After sleep, the other side may be gone. */
  readonly #wake = (): void => {
    if (Date.now() - this.#heardAt > maxSilence / 2) this.#connectAgain()
  }

  /** With jitter, so that after a restart of the service not everybody connects at once. */
  #pause(failures: number): Promise<void> {
    const longest = Math.min(maxPause, firstPause * 2 ** failures)
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longest * (0.5 + Math.random() / 2))
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
