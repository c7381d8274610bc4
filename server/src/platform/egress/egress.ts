import { isIP, type LookupFunction } from 'node:net'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps, type RequestOptions } from 'node:https'
import { classifyAddress } from './addresses.ts'
import { type AllowedHost, allowsAddress, allowsName, isMetadataName, withoutTrailingDot } from './allow.ts'
import { resolveAddresses, lookUpAddresses } from './resolver.ts'
import { allowsPlaintext } from './plaintext.ts'
import { KeptConnections } from './connections.ts'
import { EgressError } from './egress-error.ts'

export interface EgressRequest {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** Milliseconds for the whole request, from the DNS lookup to the last byte; default 10,000. */
  timeout?: number
  /** Maximum bytes of the response body; default 1 MiB. */
  limit?: number
  /** True if a longer body is cut there, instead of an error. */
  cutsBody?: boolean
  signal?: AbortSignal | undefined
  /** Keeps the connection open for the next request with the same text. If the server closes it, that fails with `closed`. */
  group?: string | undefined
}

export interface EgressResponse {
  status: number
  /** Names and values, alternating, as they were sent. */
  rawHeaders: readonly string[]
  body: Buffer
}

/** The only way to connect to an address that a user chose. */
export interface Egress {
  /** Sends a request and reads the response, whatever its status; redirects are not followed. Throws `EgressError`. */
  request(url: string, request?: EgressRequest): Promise<EgressResponse>
  /** The same with the signature of `fetch`, for libraries that take one. */
  fetch(url: string, init?: FetchOptions): Promise<Response>
  /** May this URL be reached although its host is internal and, for http, although the connection is not encrypted? */
  isAllowed(url: URL): boolean
  close(): void
}

/** The supported options of `fetch`. Redirects are never followed, whatever the options say. */
export interface FetchOptions {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: unknown
  signal?: AbortSignal | undefined
}

export interface EgressOptions {
  /** EGRESS_ALLOW. */
  allowed: readonly AllowedHost[]
  /** PLAINTEXT_HOSTS: besides this machine, the only hosts that may be connected to without TLS. */
  plaintextHosts?: readonly AllowedHost[]
  /** Certificate authorities to trust instead of the default ones. */
  authorities?: string
  /** Maximum concurrent requests, which bounds the memory for their responses; default 32. */
  maxConcurrent?: number
}

const defaultTimeout = 10_000
const defaultLimit = 1_048_576
const maxHeaderBytes = 16_384
const defaultConcurrent = 32

export const createEgress = (options: EgressOptions): Egress => new GuardedEgress(options)

class GuardedEgress implements Egress {
  readonly #allowed: readonly AllowedHost[]
  readonly #plaintextHosts: readonly AllowedHost[]
  readonly #authorities: string | undefined
  readonly #maxConcurrent: number
  readonly #kept: KeptConnections
  #inProgress = 0

  constructor({ allowed, plaintextHosts = [], authorities, maxConcurrent = defaultConcurrent }: EgressOptions) {
    this.#maxConcurrent = maxConcurrent
    this.#kept = new KeptConnections(maxConcurrent)
    this.#allowed = allowed
    this.#plaintextHosts = plaintextHosts
    this.#authorities = authorities
  }

  async request(urlText: string, request: EgressRequest = {}): Promise<EgressResponse> {
    const url = parseUrl(urlText)
    request.signal?.throwIfAborted()
    if (this.#inProgress >= this.#maxConcurrent) throw new EgressError('busy')
    this.#inProgress++
    const timeoutSignal = AbortSignal.timeout(request.timeout ?? defaultTimeout)
    const signal = request.signal ? AbortSignal.any([timeoutSignal, request.signal]) : timeoutSignal
    try {
      return await this.#send(url, request, signal)
    } catch (error) {
      if (timeoutSignal.aborted) throw new EgressError('slow', error)
      request.signal?.throwIfAborted()
      throw error instanceof EgressError ? error : new EgressError(reasonOf(error), error)
    } finally {
      this.#inProgress--
    }
  }

  async fetch(url: string, { method = 'GET', headers = {}, body, signal }: FetchOptions = {}): Promise<Response> {
    const response = await this.request(url, { method, headers, ...encodeBody(body), signal })
    try {
      const hasNoBody = [204, 205, 304].includes(response.status)
      return new Response(hasNoBody ? null : response.body, {
        status: response.status,
        headers: headerPairs(response.rawHeaders),
      })
    } catch (error) {
      // The response has an invalid status or header.
      throw new EgressError('response', error)
    }
  }

  isAllowed(url: URL): boolean {
    const [host, port] = [hostOf(url), portOf(url)]
    if (url.protocol === 'http:' && !allowsPlaintext(this.#plaintextHosts, { host, port })) return false
    return isIP(host) === 0 ? allowsName(this.#allowed, host, port) : allowsAddress(this.#allowed, host, port)
  }

  close(): void {
    this.#kept.close()
  }

  async #send(url: URL, request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const { group } = request
    const resolve = () => this.#resolve(url, signal)
    const addresses = group === undefined ? await resolve() : await this.#kept.addressesOf(url.origin, resolve)
    signal.throwIfAborted()
    if (url.protocol === 'http:' && !this.#allowsPlaintext(url, addresses)) throw new EgressError('plaintext')
    const { method = 'GET', headers = {}, body, limit = defaultLimit, cutsBody = false } = request
    const options: RequestOptions = {
      method,
      // Ours come last, so that no caller overrides Host, which selects and verifies the certificate, or asks for a
      // compressed response.
      headers: {
        'user-agent': 'rapport',
        ...lowerCased(headers),
        host: url.host,
        'accept-encoding': 'identity',
        connection: group === undefined ? 'close' : 'keep-alive',
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      },
      ...(group === undefined ? { agent: false } : this.#kept.optionsFor(url.protocol, group, addresses)),
      lookup: pinnedLookup(addresses),
      maxHeaderSize: maxHeaderBytes,
      insecureHTTPParser: false,
      rejectUnauthorized: true,
      ...(this.#authorities !== undefined && { ca: this.#authorities }),
      signal,
    }
    const outgoing = url.protocol === 'https:' ? requestHttps(url, options) : requestHttp(url, options)
    try {
      const response = await sendAndWait(outgoing, body)
      const { statusCode = 0, rawHeaders } = response
      return {
        status: statusCode,
        rawHeaders,
        body: await (cutsBody ? readBeginning(response, limit) : readBody(response, limit)),
      }
    } finally {
      outgoing.destroy()
    }
  }

  /** Allowed by its name, or because all of its addresses are allowed. */
  #allowsPlaintext(url: URL, addresses: readonly string[]): boolean {
    const isPlain = (host: string) => allowsPlaintext(this.#plaintextHosts, { host, port: portOf(url) })
    return allowsName(this.#plaintextHosts, hostOf(url), portOf(url)) || addresses.every(isPlain)
  }

  /** Resolves the addresses once, and rejects all if one is rejected: mixing public and internal is an attack. */
  async #resolve(url: URL, signal: AbortSignal): Promise<readonly string[]> {
    const host = hostOf(url)
    const port = portOf(url)
    if (isMetadataName(host)) throw new EgressError('host')
    const isLiteral = isIP(host) !== 0
    const isAllowed = !isLiteral && allowsName(this.#allowed, host, port)
    const found = isLiteral
      ? [host]
      : isAllowed
        ? await lookUpAddresses(host, signal)
        : await resolveAddresses(host, signal)
    const isReachable = (address: string) => {
      const addressClass = classifyAddress(address)
      if (addressClass === 'public') return true
      return addressClass === 'internal' && (isAllowed || allowsAddress(this.#allowed, address, port))
    }
    if (found.length === 0 || !found.every(isReachable)) throw new EgressError('host')
    return found
  }
}

/** `URL` has already normalized every form of an IPv4 address (octal, hexadecimal, a single number). */
function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) throw new EgressError('url')
  return url
}

const hostOf = ({ hostname }: URL): string => withoutTrailingDot(hostname.replace(/^\[|\]$/g, ''))

const portOf = ({ port, protocol }: URL): number => (port ? Number(port) : protocol === 'https:' ? 443 : 80)

/** Replaces the connection's own DNS lookup, which could return different addresses. */
const pinnedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, options, done) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = found
    if (options.all) done(null, found)
    else if (first) done(null, first.address, first.family)
  }

const sendAndWait = (outgoing: ClientRequest, body: string | Uint8Array | undefined): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    outgoing.on('response', resolve)
    // Not removed: once the response has started, its reader gets the error.
    outgoing.on('error', (error) => reject(isClosed(outgoing, error) ? new EgressError('closed', error) : error))
    outgoing.end(body)
  })

/** Has the server closed a kept connection instead of answering? Nobody knows whether it did so before the request arrived. */
const isClosed = ({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')

/** Stops reading as soon as the body exceeds the limit. */
async function readBody(response: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > limit) throw new EgressError('large')
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') throw new EgressError('response')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) throw new EgressError('large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

/** The first bytes; empty if they are compressed, because only the status matters then. */
async function readBeginning(response: IncomingMessage, limit: number): Promise<Buffer> {
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') return Buffer.alloc(0)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    chunks.push(chunk)
    if (length >= limit) break
  }
  return Buffer.concat(chunks).subarray(0, limit)
}

function reasonOf(error: unknown): 'unreachable' | 'certificate' | 'large' | 'response' {
  const code = String((error as NodeJS.ErrnoException).code)
  if (code === 'HPE_HEADER_OVERFLOW') return 'large'
  if (code.startsWith('HPE_')) return 'response'
  return /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS_|^ERR_SSL_/.test(code) ? 'certificate' : 'unreachable'
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !connectionHeaders.has(name)),
  )

/** Headers about the connection, which are set here. */
const connectionHeaders = new Set(['transfer-encoding', 'content-length', 'upgrade', 'expect', 'te', 'trailer'])

function encodeBody(body: unknown): { body?: string | Uint8Array } {
  if (body === undefined || body === null) return {}
  if (typeof body === 'string' || body instanceof Uint8Array) return { body }
  if (body instanceof URLSearchParams) return { body: body.toString() }
  throw new TypeError('a body must be text, bytes or form parameters')
}

const headerPairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []))
