import { Readable } from 'node:stream'
import type { ReadRequest, RouteResponse } from '../platform/http/route.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { ApiError } from '../platform/model/errors.ts'
import { CredentialChanged } from '../platform/database/failures.ts'
import { type CurrentPage, hasMore, readCurrent, showEvents } from './current.ts'
import type { Notice } from './notices.ts'
import { formatPosition } from './position.ts'
import { readLastPosition } from './positions-store.ts'
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
  const stream = Readable.from(textsOf(request, wish, { first, followed, ended: follower.ended }), {
    objectMode: false,
  })
  stream.once('close', () => follower.leave())
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

interface Streamed {
  first: CurrentPage
  followed: readonly Resource[]
  ended: AbortSignal
}

/** What is sent. A client that reads slowly is asked for nothing more: the next page is read when this one is gone. */
async function* textsOf(
  request: ReadRequest,
  wish: Wish,
  { first, followed, ended }: Streamed,
): AsyncGenerator<string> {
  const { services, caller, db } = request
  yield `retry: ${reconnection}\n\n`
  const readNotice = () => services.feed.notices.read(db, caller.userId).catch(endOfStream)
  let notice = caller.kind === 'session' ? await readNotice() : undefined
  // A client that connects again has missed what changed meanwhile.
  if (notice) yield textOf(notice)
  for (let page = first; ;) {
    for (const event of showEvents(page, followed))
      yield `id: ${String(event.position)}\ndata: ${JSON.stringify(event)}\n\n`
    const position = { epoch: page.epoch, number: page.reached }
    // Lets a client continue here although it got no event, and keeps a silent connection alive.
    if (page.events.at(-1)?.position !== page.reached) yield `id: ${formatPosition(position)}\n\n`
    const noticed = notice && { userId: caller.userId, number: notice.number }
    const isNoticed =
      !hasMore(page) &&
      (await services.feed.waitFor(caller.organizationId, page.reached, heartbeat, { signal: ended, noticed }))
    if (ended.aborted) return
    if (isNoticed) {
      notice = await readNotice()
      if (!notice) return
      yield textOf(notice)
    }
    const next = await readCurrent(request, { ...wish, after: position }).catch(endOfStream)
    if (next === undefined) return
    page = next
  }
}

const textOf = ({ event, data }: Notice): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** The stream ends: the client connects again and gets the error with its status. Others are those of the service. */
function endOfStream(error: unknown): undefined {
  if (error instanceof CredentialChanged || error instanceof ApiError) return undefined
  throw error
}
