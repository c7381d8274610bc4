import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { newId, showId } from '../resource/ids.ts'
import { ApiError } from './errors.ts'

export interface AdmissionOptions {
  /** The contract's date, as every answer tells it. */
  version: string
  /** What every answer tells a browser. */
  safety: Readonly<Record<string, string>>
  /** Milliseconds that the request which has waited longest for the database has waited by now; 0 while few wait. */
  longestWait: () => number
  /** What a page of that origin needs to read the refusal. */
  corsHeaders: (origin: string | undefined) => Record<string, string>
  /** Told of each refusal: a line each in the log would cost as much as the refusal. */
  refused: () => void
}

/** Milliseconds: whoever comes while many wait, and one has waited that long, would wait longer still. */
const mostWait = 250

/** Says once a second at most how many were refused. */
export class Refusals {
  readonly #log: Logger
  #count = 0

  constructor(log: Logger) {
    this.#log = log
  }

  count(): void {
    this.#count++
    if (this.#count > 1) return
    setTimeout(() => {
      this.#log.warn({ requests: this.#count }, 'overloaded: requests were refused')
      this.#count = 0
    }, 1000).unref()
  }
}

/**
 * Pushes have a bound of their own, the health of the process is asked for when it is worst, and neither the documents nor
 * a browser's question for permission wait for the database.
 */
const alwaysAdmitted = /^\/(?:healthz|readyz|v5\/(?:docs|swagger|imports\/[^/]+\/trigger\/))/
const isAdmitted = ({ method, url = '' }: IncomingMessage) => method === 'OPTIONS' || alwaysAdmitted.test(url)

/**
 * Refuses requests at the door, before anything is spent on them, while those inside wait too long: else all would wait
 * until nobody's answer came in time. Wraps the listener that the framework has put on the server.
 */
export function addAdmission(
  server: Server,
  { version, safety, longestWait, corsHeaders, refused }: AdmissionOptions,
): void {
  // The framework's own is the last one; who watches beside it stands in front of it.
  const handle = (server.listeners('request') as RequestListener[]).at(-1)
  if (!handle) throw new Error('the framework listens to requests')
  const refusal = new ApiError('overloaded', 'More requests wait than can be answered soon. Try again.')
  const text = JSON.stringify(refusal.body())
  const length = String(Buffer.byteLength(text))
  server.removeListener('request', handle)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (longestWait() < mostWait || isAdmitted(request)) return handle(request, response)
    refused()
    response.writeHead(refusal.status, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': length,
      'retry-after': '1',
      'x-request-id': showId('req', newId()),
      version,
      'cache-control': 'no-store',
      ...safety,
      vary: 'accept-encoding',
      ...corsHeaders(request.headers.origin),
    })
    response.end(text)
  })
}
