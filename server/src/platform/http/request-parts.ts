import type { FastifyRequest } from 'fastify'
import type { Credential } from './protocol/identifier.ts'
import { validateBody } from '../records/request/body.ts'
import { decodeId } from '../model/ids.ts'
import { ApiError, type BodyError, invalidBody, invalidParameters, maxDetails } from '../model/errors.ts'
import { checkEntityTags } from './protocol/etag.ts'
import { charge, nilUuid } from './request-context.ts'
import { wantsPage } from './pages/html.ts'
import { parseJsonBytes } from './protocol/json.ts'
import { addressKey } from './limits/rate-limit.ts'
import { readBytes } from './limits/request-body.ts'
import type { AccountRoute, Client, Exchange, PublicRoute, Route, SearchRoute, WriteRoute } from './route.ts'
import { singleHeader } from './protocol/header.ts'
import type { JsonValue, JsonObject } from '../model/json.ts'

/** The client of a request; its properties are read on demand. */
export const clientOf = (request: FastifyRequest): Client => new RequestClient(request)

class RequestClient implements Client {
  readonly #request: FastifyRequest

  constructor(request: FastifyRequest) {
    this.#request = request
  }

  get address(): string {
    return this.#request.address
  }

  get userAgent(): string | null {
    return singleHeader(this.#request, 'user-agent')?.slice(0, 400) ?? null
  }

  get requestId(): string {
    return this.#request.id
  }

  get origin(): string | undefined {
    return singleHeader(this.#request, 'origin')
  }

  get fetchSite(): string | undefined {
    return singleHeader(this.#request, 'sec-fetch-site')
  }

  get requestOrigin(): string {
    // HTTP/1.0 needs no Host header.
    return `${this.#request.protocol}://${this.#request.host || 'localhost'}`
  }

  get lastEventId(): string | undefined {
    return singleHeader(this.#request, 'last-event-id')
  }

  get wantsPage(): boolean {
    return wantsPage(this.#request)
  }

  cookie(name: string): string | undefined {
    return readCookie(singleHeader(this.#request, 'cookie'), name)
  }
}

/** The first cookie with this name (RFC 6265 section 4.2.1); our values are never quoted or encoded. */
function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = header?.split(';').map((pair) => pair.trim()) ?? []
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** Charges the address only for failures: a valid credential is not rejected because of others at its proxy. */
export async function authenticate(exchange: Exchange): Promise<Credential> {
  const { services, request } = exchange
  const header = request.headers.authorization
  try {
    const credential = await services.identifier.authenticate(header)
    services.identifier.recordSessionUse(credential, request.address)
    return credential
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      await charge(exchange, header === undefined ? 'address' : 'key', addressKey(request.address))
    }
    throw error
  }
}

/** The ids in the path. An invalid one behaves like an id that does not exist, and fails at the same step. */
export function paramsOf(route: Pick<Route, 'params'>, request: FastifyRequest): Record<string, string> {
  const given = request.params as Record<string, string>
  return Object.fromEntries(
    Object.entries(route.params).map(([name, { prefix }]) => {
      const text = given[name] ?? ''
      if (text.includes('\0')) throw invalidParameters([{ field: name, message: 'must not contain NUL' }])
      return [name, decodeId(prefix, text) ?? nilUuid]
    }),
  )
}

/** Reads only support If-None-Match. */
export function checkReadConditions(request: FastifyRequest): void {
  if (singleHeader(request, 'if-match') !== undefined) throw unsupportedHeader('If-Match')
  const none = singleHeader(request, 'if-none-match')
  if (none !== undefined) checkEntityTags('If-None-Match', none)
}

/** Throws 400 if the request has one of these headers, which its route would otherwise ignore. */
export function refuseHeaders(request: FastifyRequest, names: readonly string[]): void {
  const sent = names.find((name) => singleHeader(request, name.toLowerCase()) !== undefined)
  if (sent !== undefined) throw unsupportedHeader(sent)
}

const unsupportedHeader = (field: string) => invalidParameters([{ field, message: 'is not supported on this request' }])

export async function readSearchBody(route: SearchRoute, request: FastifyRequest): Promise<JsonValue> {
  const bytes = await readBytes(route, request)
  return bytes.length === 0 ? {} : (parseJsonBytes(bytes) as JsonValue)
}

/** The fields to change, and the body as sent, or `{}`. */
export async function readRequestBody(
  route: Pick<WriteRoute | AccountRoute | PublicRoute, 'kind' | 'body'>,
  request: FastifyRequest,
  check?: (values: JsonObject) => Promise<readonly BodyError[]>,
): Promise<{ body: JsonObject; sent: JsonValue }> {
  const bytes = await readBytes(route, request)
  const { body } = route
  if (!body) {
    if (bytes.length === 0) return { body: {}, sent: {} }
    const value = parseJsonBytes(bytes)
    const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : ['body']
    if (names.length > 0)
      throw invalidBody(
        names.slice(0, maxDetails).map((field) => ({ field, message: 'this request must not have a body' })),
      )
    return { body: {}, sent: {} }
  }
  const sent = !body.required && bytes.length === 0 ? {} : (parseJsonBytes(bytes) as JsonValue)
  const { values, errors } = validateBody(body.shape, sent)
  const all = [...errors, ...((await check?.(values)) ?? [])]
  if (all.length > 0) throw invalidBody(all)
  return { body: values, sent }
}
