import { meQuery } from '../api/me.ts'
import { covers } from '../api/permissions.ts'
import { queryClient } from '../api/query-client.ts'
import { type SessionScope, sessionScope, whenSessionIsLeft } from '../api/session.ts'
import { publish, publishLoss, type SharedEvent } from './events.ts'
import { type Batch, FeedConnection } from './feed.ts'
import { everybody, forgetPeople, type PeopleEvent, showPeople } from './people.ts'
import { nowhere, onPlacesChanged, ownPlaces, type Places } from './places.ts'
import './refetch.ts'
import type { Signs } from './signs.ts'

const neededScope = { resource: 'event', action: 'list', permission: 'read', guarded: false } as const
/** Milliseconds between two refetches of everything, for a person whose role does not show them events. */
const refusedInterval = 15_000
/** Milliseconds for which batches are stored for new tabs: longer than a page takes to load. */
const batchMemory = 60_000

type Message =
  /** A new tab asks where to begin, and for what has happened since it began to load. */
  | { kind: 'hello'; since: number }
  | { kind: 'welcome'; since: number; events: readonly SharedEvent[]; position: string }
  | { kind: 'batch'; batch: Batch }
  | { kind: 'loss'; position: string }
  | { kind: 'people'; event: PeopleEvent }
  /** The tab with the connection asks the others which records they have open. */
  | { kind: 'where' }
  | { kind: 'places'; tab: string; places: Places }

/** What this page follows. */
let current: Follower | undefined
let isFirst = true

/** Follows the changes of the organization that the page shows, until the page leaves the session. */
export function followChanges(): void {
  const scope = sessionScope()
  if (scope?.organizationId === undefined || current?.isOf(scope)) return
  current?.stop()
  // The first data may have been requested since the page began to load.
  current = new Follower(scope, isFirst ? performance.timeOrigin : Date.now())
  isFirst = false
}

whenSessionIsLeft(() => {
  current?.stop()
  current = undefined
})

/**
 * A tab that follows the feed. The tab that holds the lock has the connection, and passes on what it receives. The
 * next one continues behind the last batch that it has seen itself, so that none is lost in between.
 */
class Follower {
  readonly #scope: SessionScope
  readonly #since: number
  readonly #channel: BroadcastChannel
  readonly #waiting = new AbortController()
  readonly #tab = crypto.getRandomValues(new Uint32Array(2)).join('-')
  #signs: Signs | undefined
  #leads = false
  #connection: FeedConnection | undefined
  #position: string | undefined
  #recent: { at: number; batch: Batch }[] = []
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(scope: SessionScope, since: number) {
    this.#scope = scope
    this.#since = since
    const name = `rapport.live.${scope.userId}.${scope.organizationId}`
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#receive(data)
    this.#post({ kind: 'hello', since })
    const { signal } = this.#waiting
    signal.addEventListener(
      'abort',
      onPlacesChanged(() => this.#announce()),
    )
    addEventListener('pagehide', () => this.#leave(), { signal })
    addEventListener('pageshow', () => this.#announce(), { signal })
    const lead = () => this.#lead()
    // On plain HTTP, browsers have no locks: each tab has a connection.
    const leading = isSecureContext ? navigator.locks.request(name, { signal }, lead) : lead()
    leading.catch(() => undefined)
  }

  isOf({ userId, organizationId }: SessionScope): boolean {
    return this.#scope.userId === userId && this.#scope.organizationId === organizationId
  }

  stop(): void {
    clearInterval(this.#timer)
    forgetPeople()
    this.#waiting.abort()
    this.#connection?.stop()
    this.#channel.close()
  }

  async #lead(): Promise<void> {
    // A refused request would be in the audit log.
    const { credential } = await queryClient.ensureQueryData(meQuery)
    if (this.#waiting.signal.aborted) return
    if (!covers(credential.scopes, neededScope)) return this.#refetchAll()
    this.#leads = true
    this.#post({ kind: 'where' })
    this.#announce()
    this.#connection = new FeedConnection(
      { position: this.#position, since: this.#since },
      {
        onBatch: (batch) => {
          const now = Date.now()
          this.#recent = [...this.#recent.filter(({ at }) => now - at < batchMemory), { at: now, batch }]
          this.#post({ kind: 'batch', batch })
          publish(batch.events)
        },
        onLoss: (position) => {
          this.#recent = []
          this.#post({ kind: 'loss', position })
          publishLoss()
        },
        onRefused: () => {
          publishLoss()
          this.#refetchAll()
        },
        onPeople: (event) => {
          this.#post({ kind: 'people', event })
          showPeople(event)
        },
        onHeard: () => {
          if (this.#signs?.isDue !== true) return
          this.#post({ kind: 'where' })
          this.#announce()
          this.#signs.repeat()
        },
      },
    )
    await this.#connection.run()
  }

  #refetchAll(): void {
    this.#timer = setInterval(publishLoss, refusedInterval)
  }

  #announce(): void {
    const places = ownPlaces()
    if (this.#leads) void this.#sign(this.#tab, places)
    else this.#post({ kind: 'places', tab: this.#tab, places })
  }

  /** Loaded when a record is opened. */
  async #sign(tab: string, places: Places): Promise<void> {
    if (this.#signs === undefined && places.recordIds.length === 0) return
    const module = await import('./signs.ts')
    // Without locks, each tab signs for itself.
    this.#signs ??= new module.Signs(isSecureContext ? 'browser' : this.#tab)
    this.#signs.set(tab, places)
  }

  #leave(): void {
    if (this.#signs) this.#signs.leave(this.#tab)
    else this.#post({ kind: 'places', tab: this.#tab, places: nowhere })
  }

  #receive(message: Message): void {
    if (message.kind === 'hello') return this.#welcome(message.since)
    if (message.kind === 'places') {
      if (this.#leads && isSecureContext) void this.#sign(message.tab, message.places)
      return
    }
    // Only without locks, several tabs have a connection.
    if (this.#connection) return
    if (message.kind === 'where') return this.#announce()
    if (message.kind === 'people') return showPeople(message.event)
    if (message.kind === 'loss') {
      this.#position = message.position
      return publishLoss()
    }
    if (message.kind === 'welcome') {
      if (this.#position !== undefined || message.since !== this.#since) return
      this.#position = message.position
      return publish(message.events)
    }
    if (this.#position === undefined) return
    const { from, to, events } = message.batch
    const isNext = this.#position === from
    this.#position = to
    if (isNext) publish(events)
    else publishLoss()
  }

  #welcome(since: number): void {
    const position = this.#connection?.position
    if (position === undefined) return
    const events = this.#recent.filter(({ at }) => at >= since).flatMap(({ batch }) => batch.events)
    this.#post({ kind: 'welcome', since, events, position })
    this.#post({ kind: 'people', event: everybody() })
  }

  #post(message: Message): void {
    this.#channel.postMessage(message)
  }
}
