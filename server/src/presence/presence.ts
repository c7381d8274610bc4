import type { Logger } from 'pino'
import { findOpenSessions } from '../identity/access/open-sessions-store.ts'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { type Loop, startLoop } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { CredentialChanged, isTransient } from '../platform/database/failures.ts'
import { Room } from './room.ts'
import { readPresences, readStates } from './store.ts'
import { Viewer, type Viewed } from './viewer.ts'

export interface PresenceOptions {
  database: Database
  log: Logger
  ready: Promise<unknown>
}

/** Milliseconds between two polls of the organizations whose streams are open. */
const interval = 1000
/** Viewers whose reach is asked for in one interval. With more of them, each waits longer, and the price stays. */
const maxAsked = 100

/** Shows streams who else has which records open. Without a stream, nothing is asked. */
export class PresenceWatch {
  readonly #database: Database
  readonly #log: Logger
  readonly #loop: Loop
  readonly #viewers = new Set<Viewer>()
  readonly #rooms = new Map<string, Room>()

  constructor({ database, log, ready }: PresenceOptions) {
    this.#database = database
    this.#log = log
    const onError = (error: unknown) => this.#report(error)
    this.#loop = startLoop({ ready, retryMilliseconds: 1000, onError, run: () => this.#look() })
  }

  view(viewed: Viewed): Viewer {
    const viewer = new Viewer(viewed)
    this.#viewers.add(viewer)
    this.#loop.wake()
    return viewer
  }

  leave(viewer: Viewer): void {
    this.#viewers.delete(viewer)
  }

  close(): Promise<void> {
    return this.#loop.close()
  }

  async #look(): Promise<number> {
    const organizationIds = new Set([...this.#viewers].map(({ organizationId }) => organizationId))
    for (const id of this.#rooms.keys()) if (!organizationIds.has(id)) this.#rooms.delete(id)
    if (organizationIds.size === 0) return 60_000
    await this.#readRooms([...organizationIds])
    await this.#updateRooms()
    await this.#updateViewers()
    return interval
  }

  async #readRooms(organizationIds: readonly string[]): Promise<void> {
    const states = await readStates(this.#database, organizationIds)
    const changed: string[] = []
    for (const id of organizationIds) {
      const room = this.#rooms.get(id) ?? new Room()
      this.#rooms.set(id, room)
      if (room.state !== (states.get(id) ?? '')) changed.push(id)
    }
    const presences = changed.length > 0 ? await readPresences(this.#database, changed) : []
    for (const id of changed) {
      const ofRoom = presences.filter(({ organizationId }) => organizationId === id)
      this.#rooms.get(id)?.replace(states.get(id) ?? '', ofRoom)
    }
  }

  async #updateRooms(): Promise<void> {
    const sessionIds = [...this.#rooms.values()].flatMap((room) => room.sessionIds)
    const open = sessionIds.length > 0 ? await findOpenSessions(this.#database, [...new Set(sessionIds)]) : undefined
    for (const [id, room] of this.#rooms) {
      const changed = room.update((presence) => open?.get(presence.sessionId)?.has(id) === true)
      if (changed.length === 0) continue
      for (const viewer of this.#viewers) if (viewer.organizationId === id) viewer.mark(changed)
    }
  }

  async #updateViewers(): Promise<void> {
    const now = Date.now()
    let asked = 0
    for (const viewer of [...this.#viewers]) {
      const room = this.#rooms.get(viewer.organizationId)
      // The first of an organization that has come meanwhile has none yet.
      if (!room || !viewer.isDue(room, now)) continue
      if (viewer.isBounded) {
        if (++asked > maxAsked) continue
        // The others are the first ones the next time.
        if (this.#viewers.delete(viewer)) this.#viewers.add(viewer)
      }
      await viewer.update(room, now).catch((error: unknown) => this.#report(error))
    }
  }

  #report(error: unknown): void {
    // The stream of somebody whose access has changed ends.
    if (error instanceof CredentialChanged || isTransient(error)) return
    this.#log.error(errorForLog(error), 'presence: looking for people failed')
  }
}
