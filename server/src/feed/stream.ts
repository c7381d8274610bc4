import { Readable } from 'node:stream'
import type { Caller } from '../platform/model/caller.ts'
import type { ReadRequest, RouteResponse } from '../platform/http/route.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { ApiError } from '../platform/model/errors.ts'
import { CredentialChanged } from '../platform/database/failures.ts'
import type { Viewer } from '../presence/viewer.ts'
import { type CurrentPage, hasMore, readCurrent, showEvents } from './current.ts'
import type { Notice } from './notices.ts'
import { formatPosition } from './position.ts'
import { readLastPosition } from './positions-store.ts'
import { findUnreachable } from './unreachable-store.ts'
import { parseWish, type Wish } from './wish.ts'

/** Milliseconds after which a silent stream sends a comment, so that proxies do not give it up. */
const heartbeat = 15_000
/** Milliseconds that a client waits before it connects again. */
const reconnection = 2000

/** A stream of the events after a position, by default from now on. Errors: as of a page. */
export async function openStream(request: ReadRequest, followed: readonly Resource[]): Promise<RouteResponse> {
  const { services, caller, db, client } = request
  const wish = await parseWish(request, followed, client.lastEventId)
  wish.after ??= await readLastPosition(services.database, db)
  // Before the stream begins, so that an error has its status.
  const first = await readCurrent(request, wish)
  const follower = services.feed.follow(caller)
  const pauses = new Pauses(follower.ended)
  const viewer = showsPeople(caller, wish)
    ? services.feed.presence.view({ db, userId: caller.userId, ...wish, onNews: () => pauses.end() })
    : undefined
  const shown: Streamed['shown'] = { notice: undefined }
  const stream = Readable.from(textsOf(request, wish, { first, followed, pauses, viewer, shown }), {
    objectMode: false,
  })
  stream.once('close', () => {
    follower.leave()
    if (viewer) services.feed.presence.leave(viewer)
  })
  return {
    status: 200,
    stream,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Proxies such as nginx would collect the stream.
      'x-accel-buffering': 'no',
    },
  }
}

/** Does the stream show who has which records open? Programs follow changes, and a filter by kind leaves this out. */
const showsPeople = (caller: Caller, { kinds }: Wish): boolean => caller.kind === 'session' && kinds === undefined

/** The times during which a stream waits for events; the end of the stream ends them. */
class Pauses {
  readonly ended: AbortSignal
  #current = new AbortController()

  constructor(ended: AbortSignal) {
    this.ended = ended
    ended.addEventListener('abort', () => this.end())
  }

  begin(): AbortSignal {
    this.#current = new AbortController()
    if (this.ended.aborted) this.end()
    return this.#current.signal
  }

  end(): void {
    this.#current.abort()
  }
}

interface Streamed {
  first: CurrentPage
  followed: readonly Resource[]
  pauses: Pauses
  viewer: Viewer | undefined
  /** What the person was last sent of their own state; nothing yet, or to a program. */
  shown: { notice: Notice | undefined }
}

/** What is sent. A client that reads slowly is asked for nothing more: the next page is read when this one is gone. */
async function* textsOf(
  request: ReadRequest,
  wish: Wish,
  { first, followed, pauses, viewer, shown }: Streamed,
): AsyncGenerator<string> {
  yield `retry: ${reconnection}\n\n`
  // A client that connects again has missed what changed meanwhile.
  if (request.caller.kind === 'session') yield* noticeOf(request, shown)
  for (let [page, after] = [first, numberOf(wish)]; ;) {
    const range = { after, reached: page.reached, resources: wish.resources }
    const unreachable = await findUnreachable(request.db, range).catch(endOfStream)
    if (unreachable === undefined) return
    for (const record of unreachable) yield `event: unreachable\ndata: ${JSON.stringify(record)}\n\n`
    for (const event of showEvents(page, followed))
      yield `id: ${String(event.position)}\ndata: ${JSON.stringify(event)}\n\n`
    const position = { epoch: page.epoch, number: page.reached }
    // Lets a client continue here although it got no event, and keeps a silent connection alive.
    if (page.events.at(-1)?.position !== page.reached) yield `id: ${formatPosition(position)}\n\n`
    if (!hasMore(page)) yield* textsBetween(request, page.reached, { pauses, viewer, shown })
    if (pauses.ended.aborted) return
    const next = await readCurrent(request, { ...wish, after: position }).catch(endOfStream)
    if (next === undefined) return
    ;[page, after] = [next, page.reached]
  }
}

const numberOf = ({ after }: Wish): number => (typeof after === 'object' ? after.number : 0)

/** Until there are events, or it is time for a sign of life: what is not in the feed. */
async function* textsBetween(
  request: ReadRequest,
  reached: number,
  { pauses, viewer, shown }: Pick<Streamed, 'pauses' | 'viewer' | 'shown'>,
): AsyncGenerator<string> {
  const { services, caller } = request
  const end = performance.now() + heartbeat
  for (;;) {
    const signal = pauses.begin()
    const people = viewer?.take()
    if (people !== undefined) {
      yield `event: presence\ndata: ${people}\n\n`
      // More may have come while this one was sent.
      continue
    }
    const noticed = shown.notice && { userId: caller.userId, number: shown.notice.number }
    const left = end - performance.now()
    const isNoticed = await services.feed.waitFor(caller.organizationId, reached, left, { signal, noticed })
    if (pauses.ended.aborted || (!isNoticed && !signal.aborted)) return
    if (isNoticed) yield* noticeOf(request, shown)
  }
}

/** What has changed for the person; nothing if the credential ends, as the next page reports. */
async function* noticeOf({ services, caller, db }: ReadRequest, shown: Streamed['shown']): AsyncGenerator<string> {
  const notice = await services.feed.notices.read(db, caller.userId).catch(endOfStream)
  if (!notice) return
  shown.notice = notice
  yield `event: ${notice.event}\ndata: ${JSON.stringify(notice.data)}\n\n`
}

/** The stream ends: the client connects again and gets the error with its status. Others are those of the service. */
function endOfStream(error: unknown): undefined {
  if (error instanceof CredentialChanged || error instanceof ApiError) return undefined
  throw error
}
