import { get, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Call, Json } from './service.ts'

/** Somebody who follows the feed. */
export interface FeedReader {
  /** What has been seen, in its order. */
  readonly events: readonly Json[]
  /** Resolves when everything up to this position, these numbers of events, has been seen, and ends. */
  finish(position: string, count: number): Promise<void>
}

interface PageOptions {
  limit: number
  /** Seconds. */
  wait: number
  /** Further parameters, beginning with `&`. */
  query?: string
  after?: string
  /** When each page arrived. */
  onPage?: (events: readonly Json[]) => void
}

export const numberOf = (position: string): number => Number(position.split('-')[1])

/** Reads page by page. `call` may be one that sends a request again which had no response. */
export function readPages(call: Call, { limit, wait, query = '', after = 'start', onPage }: PageOptions): FeedReader {
  const events: Json[] = []
  let last = Infinity
  const read = async () => {
    for (let position = after; ;) {
      // Nothing comes after the last position, so a reader that has not asked before must not wait for it.
      const seconds = last === Infinity ? wait : 0
      const path = `/v5/events?after=${position}&limit=${limit}&wait=${seconds}${query}`
      const { status, text, body } = await call('GET', path)
      expect(status, text).toBe(200)
      onPage?.(body.events)
      events.push(...body.events)
      position = body.position
      if (!body.hasMore && numberOf(position) >= last) return
      if (wait === 0 && !body.hasMore) await delay(100)
    }
  }
  return readerOf(events, read(), (position) => (last = numberOf(position)))
}

/** Reads the stream, and connects again whenever it ends. `nextUrl`: of one service after the other. */
export function readStream(nextUrl: () => string, headers: Record<string, string>, query = ''): FeedReader {
  const events: Json[] = []
  let count = Infinity
  let position = 'start'
  let current: IncomingMessage | undefined
  // The position behind events that the filter leaves out comes later.
  const isOver = () => events.length >= count
  /** What is before an empty line counts once it is complete. */
  const take = async (response: AsyncIterable<string>) => {
    let received = ''
    for await (const text of response) {
      const complete = (received + text).split('\n\n')
      received = complete.pop() ?? ''
      for (const message of complete) {
        const lines = message.split('\n')
        const data = lines.find((line) => line.startsWith('data: '))
        if (data !== undefined) events.push(JSON.parse(data.slice(6)))
        position = lines.find((line) => line.startsWith('id: '))?.slice(4) ?? position
      }
      if (isOver()) return
    }
  }
  const read = async () => {
    while (!isOver()) {
      const path = `/v5/events/stream${query}`
      current = await open(`${nextUrl()}${path}`, { ...headers, 'last-event-id': position })
      if (current?.statusCode === 200) await take(current.setEncoding('utf8')).catch(ignoreEnd)
      current?.destroy()
      if (current?.statusCode !== 200) await delay(50)
    }
  }
  return readerOf(events, read(), (_, final) => {
    count = final
    if (isOver()) current?.destroy()
  })
}

/** A response that ended too early: the service or the connection was ended, or the reader has seen everything. */
function ignoreEnd(error: NodeJS.ErrnoException): void {
  if (!['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? '')) throw error
}

function readerOf(
  events: readonly Json[],
  ended: Promise<void>,
  end: (position: string, count: number) => void,
): FeedReader {
  // It is awaited at the end.
  ended.catch(() => undefined)
  return {
    events,
    finish: (position, count) => {
      end(position, count)
      return ended
    },
  }
}

/** Undefined without a response. */
const open = (url: string, headers: Record<string, string>): Promise<IncomingMessage | undefined> =>
  new Promise((resolve) => {
    const request = get(url, { headers, agent: false }, resolve)
    request.once('error', () => resolve(undefined))
  })
