import { unanswered } from '../api/client.ts'
import type { LiveEvent } from '../api/query-client.ts'

/** Milliseconds between two loads for a list, however much happens. */
const interval = 1000
const pause = 100

/** Records in an order on the screen: a list or a board. */
export interface Arranged {
  readonly isShown: boolean
  /** Undefined if everything is where it should be. */
  readonly arrived: number | undefined
  /** Loads these records again, which stay where they are. */
  patch(ids: readonly string[]): Promise<void>
  /** Counts what has arrived, without moving anything. */
  countArrived(): Promise<void>
  /** Loads what has changed; records may appear, move and disappear. */
  reload(ids?: readonly string[]): Promise<void>
  /** Called if it is not on the screen: it is loaded again when it is shown. */
  expire(): void
}

/**
 * Applies what others change: values at once, but what moves records only while the person does not act on them.
 * Otherwise, it waits until they ask for it.
 */
export class Arrivals {
  #mayMove: () => boolean = () => true
  readonly #target: Arranged
  #ids = new Set<string>()
  #moves = false
  #isWorking = false
  #workedAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(target: Arranged) {
    this.#target = target
  }

  /** These records have changed. `moves`: records may have come, gone, or changed their places. */
  follow(ids: Iterable<string>, moves: boolean): void {
    if (!this.#target.isShown) return this.#target.expire()
    for (const id of ids) this.#ids.add(id)
    this.#moves ||= moves
    void this.#work()
  }

  /** Called by the page that shows the records, which knows what the person does. Returns a function for its end. */
  askBeforeMoves(mayMove: () => boolean): () => void {
    this.#mayMove = mayMove
    return () => void (this.#mayMove = () => true)
  }

  /** Everything may have changed. */
  followAll(): void {
    this.follow([], true)
  }

  /** The person wants to see what has arrived. */
  readonly apply = (): Promise<void> => this.#target.reload()

  /** The person may have stopped to act on the records. */
  readonly retry = (): void => {
    if (this.#target.arrived !== undefined && this.#mayMove()) void this.apply()
  }

  readonly #resume = (): void => void this.#work()

  async #work(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#isWorking || (this.#ids.size === 0 && !this.#moves)) return
    if (document.hidden) return document.addEventListener('visibilitychange', this.#resume, { once: true })
    // The response would revert a change of this page that is being stored.
    const wait = unanswered.size > 0 ? pause : this.#workedAt + interval - Date.now()
    if (wait > 0) return void (this.#timer = setTimeout(() => void this.#work(), wait))
    const [ids, moves] = [[...this.#ids], this.#moves]
    this.#ids = new Set()
    this.#moves = false
    this.#isWorking = true
    this.#workedAt = Date.now()
    try {
      if (moves && this.#mayMove()) await this.#target.reload(ids)
      else {
        if (ids.length > 0) await this.#target.patch(ids)
        if (moves) await this.#target.countArrived()
      }
    } catch {
      this.#target.expire()
    }
    this.#isWorking = false
    void this.#work()
  }
}

const additions: readonly string[] = ['created', 'restored', 'deleted', 'purged', 'erased']

/** Does a list of all records get a record by this event, or lose one? */
export const addsOrRemoves = ({ kind }: LiveEvent): boolean => additions.includes(kind)
