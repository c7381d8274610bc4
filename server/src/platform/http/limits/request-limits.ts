import { isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { ApiError, invalidParameters, malformed } from '../../model/errors.ts'
import { negotiateContent } from '../protocol/content-negotiation.ts'
import type { ServedRoute } from '../route.ts'

/** Maximum bytes of a request's parts (documented in docs/errors.md). */
export const maxBodyBytes = 1024 * 1024
const maxPublicBodyBytes = 16 * 1024
export const maxUrlLength = 8 * 1024
const maxHeaderBytes = 16 * 1024

/** Checks the limits of every request, including those that match no route. */
export function checkLimits(request: FastifyRequest): void {
  const { headers, raw } = request
  if ((raw.url ?? '').length > maxUrlLength) throw urlTooLong()
  if (raw.rawHeaders.reduce((sum, text) => sum + text.length, 0) > maxHeaderBytes) throw headersTooLarge()
  checkHosts(request)
  // A sender of leads often cannot be changed, and none of these headers decides what a push does.
  if (request.routeOptions.config.route?.kind !== 'push') checkRepeatedHeaders(raw.rawHeaders)
  // The framework would silently drop it.
  if (raw.url?.includes('#')) throw new ApiError('malformed_request', 'The URL contains a fragment; write "#" as %23.')
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes)
}

export function checkContentLength(route: ServedRoute, { headers }: FastifyRequest): void {
  const limit = maxBodyBytesFor(route)
  if (Number(headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit)
}

/** Links, cookies and the host of AUTH_ORIGIN depend on the requested host, so there must be exactly one valid name. */
function checkHosts({ headers, raw, host, protocol }: FastifyRequest): void {
  const sent = headers.host
  if (sent === undefined && raw.httpVersion !== '1.0') throw malformed('A Host header is required.')
  if (sent !== undefined && !isHost(sent))
    throw malformed('Send one Host header with a host name and an optional port.')
  if (host !== (sent ?? '') && !isHost(host)) throw malformed('X-Forwarded-Host: expected a host name.')
  if (protocol !== 'http' && protocol !== 'https') throw malformed('X-Forwarded-Proto: expected http or https.')
  const [, authority] = absoluteForm.exec(raw.url ?? '') ?? []
  // A host in the request target would take precedence over the header (RFC 9112 section 3.2.2).
  if (authority !== undefined && authority.toLowerCase() !== (sent ?? authority).toLowerCase()) {
    throw malformed('The URL and the Host header name different hosts.')
  }
  if (authority !== undefined && !isHost(authority)) throw malformed('The URL does not name a valid host.')
}

const absoluteForm = /^https?:\/\/([^/?]*)/i
const hostForm = /^(?:\[([0-9a-f:.]+)\]|[\w.~-]+)(?::\d{0,5})?$/i

/** Nearly all requests name the same host, and parsing it as a URL takes longest of all checks. */
let latestHost: string | undefined

/** A host name or address, optionally with a port, that is valid in a URL. */
function isHost(text: string): boolean {
  if (text === latestHost) return true
  const [matched, literal] = hostForm.exec(text) ?? []
  const isValid = matched !== undefined && (literal === undefined || isIPv6(literal)) && URL.canParse(`http://${text}`)
  if (isValid) latestHost = text
  return isValid
}

/** Headers that are not lists: of two values, one would be ignored. Host and Content-Length are checked elsewhere. */
const singleHeaders = new Set([
  'authorization',
  'content-type',
  'idempotency-key',
  'if-unmodified-since',
  'origin',
  'sec-fetch-site',
  'service-organization-id',
])

function checkRepeatedHeaders(rawHeaders: readonly string[]): void {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const field = rawHeaders[index] ?? ''
    const name = field.toLowerCase()
    if (!singleHeaders.has(name)) continue
    if (seen.has(name)) throw invalidParameters([{ field, message: 'sent twice; send it once' }])
    seen.add(name)
  }
}

/** Checks Content-Type and Accept against the route; without a route, against what any route may take. */
export function checkContentTypes(route: ServedRoute | undefined, request: FastifyRequest): void {
  const { headers, method } = request
  if (route?.kind === 'push') return
  const sendsBody = Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
  const takesBody = route === undefined || route.kind === 'search' || ('body' in route && route.body !== undefined)
  const merge = method === 'PATCH' ? ['application/merge-patch+json'] : []
  const isText = Object.values(route?.responses ?? {}).some(
    (response) => response.kind === 'text' || 'hasPage' in response,
  )
  negotiateContent({
    method,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    accept: isText ? undefined : headers.accept,
    allowed: sendsBody && takesBody ? ['application/json', ...merge] : [],
  })
}

export const urlTooLong = (): ApiError =>
  new ApiError('uri_too_long', 'The URL is too long: at most 8 KiB are allowed.')

export const headersTooLarge = (): ApiError =>
  new ApiError('headers_too_large', 'The headers are too large: at most 16 KiB in total are allowed.')

/** Callers without a credential only send forms, which are small. */
export const maxBodyBytesFor = ({ kind }: Pick<ServedRoute, 'kind'>): number =>
  kind === 'public' ? maxPublicBodyBytes : maxBodyBytes

export const bodyTooLarge = (limit: number): ApiError =>
  new ApiError(
    'payload_too_large',
    `The body is too large: at most ${limit === maxBodyBytes ? '1 MiB' : '16 KiB'} are allowed here.`,
  )
