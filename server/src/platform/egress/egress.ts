import { isIP, type LookupFunction } from 'node:net'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps, type RequestOptions } from 'node:https'
import { classifyAddress } from './addresses.ts'
import { type AllowedHost, allowsAddress, allowsName, isMetadataName, withoutTrailingDot } from './allow.ts'
import { resolveAddresses, lookUpAddresses } from './resolver.ts'
import { allowsPlaintext } from './plaintext.ts'
import { EgressError } from './egress-error.ts'

export interface EgressRequest {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string | Uint8Array
  /** Milliseconds for all of it, from the look-up of the name to the last byte; 10,000 unless said. */
  timeout?: number
  /** Bytes that the answer's body may have; 1 MiB unless said. */
  limit?: number
  signal?: AbortSignal | undefined
}

export interface EgressResponse {
  status: number
  /** Name and value in turn, as they were sent. */
  rawHeaders: readonly string[]
  body: Buffer
}

/** The one way out of this process to an address that somebody else chose. */
export interface Egress {
  /** Sends a request and reads its answer, whatever its status; no redirect is followed. Errors: `EgressError`. */
  request(url: string, request?: EgressRequest): Promise<EgressResponse>
  /** The same in the form of `fetch`, for libraries that take one. */
  fetch(url: string, init?: FetchOptions): Promise<Response>
  /** May the host of this URL be reached although it is internal and, where that is its scheme, without TLS? */
  isAllowed(url: URL): boolean
}

/** What a library gives its `fetch`, as far as it is heeded; a redirect is never followed, whatever it asks for. */
export interface FetchOptions {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: unknown
  signal?: AbortSignal | undefined
}

export interface EgressOptions {
  /** EGRESS_ALLOW. */
  allowed: readonly AllowedHost[]
  /** PLAINTEXT_HOSTS: they alone, and this machine, are spoken to without TLS. */
  plaintextHosts?: readonly AllowedHost[]
  /** Authorities to trust in place of the well-known ones. */
  authorities?: string
}

const defaultTimeout = 10_000
const defaultLimit = 1_048_576
const maxHeaderBytes = 16_384
/** Requests under way at a time: what they may hold in memory is bounded, whoever answers them. */
const maxConcurrent = 32

/** Makes the way out. */
export const createEgress = (options: EgressOptions): Egress => new GuardedEgress(options)

class GuardedEgress implements Egress {
  readonly #allowed: readonly AllowedHost[]
  readonly #plaintextHosts: readonly AllowedHost[]
  readonly #authorities: string | undefined
  #underWay = 0

  constructor({ allowed, plaintextHosts = [], authorities }: EgressOptions) {
    this.#allowed = allowed
    this.#plaintextHosts = plaintextHosts
    this.#authorities = authorities
  }

  async request(urlText: string, request: EgressRequest = {}): Promise<EgressResponse> {
    const url = readUrl(urlText)
    request.signal?.throwIfAborted()
    if (this.#underWay >= maxConcurrent) throw new EgressError('busy')
    this.#underWay++
    const timeoutSignal = AbortSignal.timeout(request.timeout ?? defaultTimeout)
    const signal = request.signal ? AbortSignal.any([timeoutSignal, request.signal]) : timeoutSignal
    try {
      return await this.#send(url, request, signal)
    } catch (error) {
      if (timeoutSignal.aborted) throw new EgressError('slow', error)
      request.signal?.throwIfAborted()
      throw error instanceof EgressError ? error : new EgressError(reasonOf(error), error)
    } finally {
      this.#underWay--
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
      // A status or a header that no answer can have.
      throw new EgressError('answer', error)
    }
  }

  isAllowed(url: URL): boolean {
    const [host, port] = [hostOf(url), portOf(url)]
    if (url.protocol === 'http:' && !allowsPlaintext(this.#plaintextHosts, { host, port })) return false
    return isIP(host) === 0 ? allowsName(this.#allowed, host, port) : allowsAddress(this.#allowed, host, port)
  }

  async #send(url: URL, request: EgressRequest, signal: AbortSignal): Promise<EgressResponse> {
    const addresses = await this.#resolve(url, signal)
    signal.throwIfAborted()
    if (url.protocol === 'http:' && !this.#mayBePlain(url, addresses)) throw new EgressError('plaintext')
    const { method = 'GET', headers = {}, body, limit = defaultLimit } = request
    const options: RequestOptions = {
      method,
      // Ours come last: no caller sends another Host, by which the certificate is chosen and checked, or asks for what
      // would have to be unpacked.
      headers: {
        'user-agent': 'rapport',
        ...lowerCased(headers),
        host: url.host,
        'accept-encoding': 'identity',
        connection: 'close',
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
      },
      agent: false,
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
      return { status: statusCode, rawHeaders, body: await readBody(response, limit) }
    } finally {
      outgoing.destroy()
    }
  }

  /** By its name, or because each of its addresses may be. */
  #mayBePlain(url: URL, addresses: readonly string[]): boolean {
    const isPlain = (host: string) => allowsPlaintext(this.#plaintextHosts, { host, port: portOf(url) })
    return allowsName(this.#plaintextHosts, hostOf(url), portOf(url)) || addresses.every(isPlain)
  }

  /**
   * The addresses to connect to: looked up once, each one checked, and no other is used. One that is refused refuses all:
   * a name with a public and an internal address is made to be mistaken.
   */
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

/** The URL standard has turned every form of an IPv4 address (octal, hex, one number) into the usual one by now. */
function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) throw new EgressError('url')
  return url
}

const hostOf = ({ hostname }: URL): string => withoutTrailingDot(hostname.replace(/^\[|\]$/g, ''))

const portOf = ({ port, protocol }: URL): number => (port ? Number(port) : protocol === 'https:' ? 443 : 80)

/** Stands in for the look-up of a connection, which would ask the name servers a second time. */
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
    // Stays in place: once the answer has begun, its reader is told.
    outgoing.on('error', reject)
    outgoing.end(body)
  })

/** The body, given up as soon as it is larger than it may be. */
async function readBody(response: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > limit) throw new EgressError('large')
  if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') throw new EgressError('answer')
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limit) throw new EgressError('large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, length)
}

function reasonOf(error: unknown): 'unreachable' | 'certificate' | 'large' | 'answer' {
  const code = String((error as NodeJS.ErrnoException).code)
  if (code === 'HPE_HEADER_OVERFLOW') return 'large'
  if (code.startsWith('HPE_')) return 'answer'
  return /CERT|SELF_SIGNED|UNABLE_TO_|^ERR_TLS_|^ERR_SSL_/.test(code) ? 'certificate' : 'unreachable'
}

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => !connectionHeaders.has(name)),
  )

/** Headers about the connection, which are made here. */
const connectionHeaders = new Set(['transfer-encoding', 'content-length', 'upgrade', 'expect', 'te', 'trailer'])

function encodeBody(body: unknown): { body?: string | Uint8Array } {
  if (body === undefined || body === null) return {}
  if (typeof body === 'string' || body instanceof Uint8Array) return { body }
  if (body instanceof URLSearchParams) return { body: body.toString() }
  throw new TypeError('a body must be text, bytes or form parameters')
}

const headerPairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? '']] : []))
