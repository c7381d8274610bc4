import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { FairStarts } from '../../background/fair-starts.ts'
import { newId, encodeId } from '../../model/ids.ts'
import { ApiError } from '../../model/errors.ts'
import { errorPage, wantsPage } from '../pages/html.ts'
import type { Tenants } from './tenants.ts'

export interface AdmissionOptions {
  /** The contract's date, sent with every response. */
  version: string
  securityHeaders: Readonly<Record<string, string>>
  /** Is this path never rejected? CORS preflights are not either. */
  isAlwaysAdmitted: (path: string) => boolean
  tenants: Tenants
  /** Milliseconds that the tenant's longest waiter has been waiting for the database; 0 while few wait. */
  longestWait: (tenantKey: string) => number
  /** CORS headers, which let an allowed page read the rejection. */
  corsHeaders: (origin: string | undefined) => Record<string, string>
  /** URL of the start page. */
  home: () => string
  /** Counts rejections: a log line for each would cost as much as the rejection. */
  onRejected: () => void
}

/** Milliseconds: if a tenant's request has waited that long while many wait, a new one would wait even longer. */
const maxWait = 250

/** Logs at most once a second how many requests were rejected. */
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

const arrivals = new WeakMap<IncomingMessage, number>()

/** When the request arrived, by `performance.now()`. */
export const arrivalOf = (request: IncomingMessage): number | undefined => arrivals.get(request)

/**
 * Starts the requests of the tenants in turn, and rejects those of a tenant early and cheaply while its accepted ones wait
 * too long; otherwise no response would come in time. One tenant's requests neither delay nor reject those of others.
 */
export function addAdmissionControl(
  server: Server,
  { version, securityHeaders, isAlwaysAdmitted, tenants, longestWait, corsHeaders, home, onRejected }: AdmissionOptions,
): void {
  // The framework's listener is the last one; observers are in front of it.
  const handle = (server.listeners('request') as RequestListener[]).at(-1)
  if (!handle) throw new Error('the framework has no request listener')
  const apiError = new ApiError(
    'overloaded',
    'Too many requests are waiting. Try again after the seconds in Retry-After.',
  )
  const json = { text: JSON.stringify(apiError.body()), headers: { 'content-type': 'application/json; charset=utf-8' } }
  const isAlwaysAdmittedRequest = ({ method, url = '' }: IncomingMessage) =>
    method === 'OPTIONS' || isAlwaysAdmitted(url.split('?', 1)[0] ?? '')
  const starts = new FairStarts()
  const start = (request: IncomingMessage, response: ServerResponse) => {
    // The client has closed the connection meanwhile.
    if (!response.destroyed) handle(request, response)
  }
  server.removeListener('request', handle)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const tenantKey = tenants.of(request)
    const wait = Math.max(starts.longestWait(tenantKey), longestWait(tenantKey))
    const isRejected = wait >= maxWait && !isAlwaysAdmittedRequest(request)
    arrivals.set(request, performance.now())
    starts.add(tenantKey, () => (isRejected ? reject(request, response) : start(request, response)))
  })

  function reject(request: IncomingMessage, response: ServerResponse): void {
    onRejected()
    const requestId = encodeId('req', newId())
    const { text, headers } = wantsPage(request) ? errorPage(apiError, { requestId, home: home() }) : json
    response.writeHead(apiError.status, {
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
  }
}
