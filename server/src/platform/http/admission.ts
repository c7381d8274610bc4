import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { newId, showId } from '../model/ids.ts'
import { ApiError } from '../model/errors.ts'
import { errorPage, wantsPage } from './html.ts'

export interface AdmissionOptions {
  /** The contract's date, as every answer tells it. */
  version: string
  /** What every answer tells a browser. */
  securityHeaders: Readonly<Record<string, string>>
  /** Paths that are never refused; nor is a browser's question for permission. */
  alwaysAdmitted: readonly RegExp[]
  /** Milliseconds that the request which has waited longest for the database has waited by now; 0 while few wait. */
  longestWait: () => number
  /** What a page of that origin needs to read the refusal. */
  corsHeaders: (origin: string | undefined) => Record<string, string>
  /** The start page, for people. */
  home: () => string
  /** Told of each refusal: a line each in the log would cost as much as the refusal. */
  onRejected: () => void
}

/** Milliseconds: whoever comes while many wait, and one has waited that long, would wait longer still. */
const maxWait = 250

/** Says once a second at most how many were refused. */
export class RejectionLog {
  readonly #log: Logger
  #count = 0

  constructor(log: Logger) {
    this.#log = log
  }

  count(): void {
    this.#count++
    if (this.#count > 1) return
    setTimeout(() => {
      this.#log.warn({ requests: this.#count }, 'overloaded: requests were rejected')
      this.#count = 0
    }, 1000).unref()
  }
}

/**
 * Refuses requests at the door, before anything is spent on them, while those inside wait too long: else all would wait
 * until nobody's answer came in time. Wraps the listener that the framework has put on the server.
 */
export function addAdmissionControl(
  server: Server,
  { version, securityHeaders, alwaysAdmitted, longestWait, corsHeaders, home, onRejected }: AdmissionOptions,
): void {
  // The framework's own is the last one; who watches beside it stands in front of it.
  const handle = (server.listeners('request') as RequestListener[]).at(-1)
  if (!handle) throw new Error('the framework listens to requests')
  const refusal = new ApiError(
    'overloaded',
    'Too many requests are waiting. Try again after the seconds in Retry-After.',
  )
  const json = { text: JSON.stringify(refusal.body()), headers: { 'content-type': 'application/json; charset=utf-8' } }
  const isAlwaysAdmittedRequest = ({ method, url = '' }: IncomingMessage) =>
    method === 'OPTIONS' || alwaysAdmitted.some((path) => path.test(url.split('?', 1)[0] ?? ''))
  server.removeListener('request', handle)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (longestWait() < maxWait || isAlwaysAdmittedRequest(request)) return handle(request, response)
    onRejected()
    const requestId = showId('req', newId())
    const { text, headers } = wantsPage(request) ? errorPage(refusal, { requestId, home: home() }) : json
    response.writeHead(refusal.status, {
      'content-length': String(Buffer.byteLength(text)),
      'retry-after': '1',
      'x-request-id': requestId,
      version,
      'cache-control': 'no-store',
      ...securityHeaders,
      ...headers,
      vary: 'accept-encoding',
      ...corsHeaders(request.headers.origin),
    })
    response.end(text)
  })
}
