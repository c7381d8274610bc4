import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { CredentialChanged } from '../database/failures.ts'
import { withPlainNames } from '../records/request/nested-names.ts'
import { parseNone } from '../records/page/parse.ts'
import { checkParameters, type QueryParameter, parseAnyQuery, parseQuery } from '../records/request/query-string.ts'
import { enterOrganization } from './enter-organization.ts'
import { encode, matchesNone, revisionsOf } from './protocol/etag.ts'
import { checkIdempotencyKey } from './effects/idempotency.ts'
import { addressKey } from './limits/rate-limit.ts'
import { charge, requestTarget } from './request-context.ts'
import { checkContentLength, checkContentTypes } from './limits/request-limits.ts'
import {
  checkReadConditions,
  clientOf,
  paramsOf,
  readRequestBody,
  readSearchBody,
  refuseHeaders,
} from './request-parts.ts'
import type { Content, Entrance, Exchange, PublicRoute, RouteResponse, ServedRoute } from './route.ts'
import { singleHeader } from './protocol/header.ts'
import type { JsonObject } from '../model/json.ts'

/** Serves one request, by the steps of docs/architecture.md, whose order decides which of several errors is reported. */
export async function serve(route: ServedRoute, exchange: Exchange): Promise<void> {
  checkContentLength(route, exchange.request)
  checkContentTypes(route, exchange.request)
  for (let attempt = 1; ; attempt++) {
    try {
      const entrance = await enter(route, exchange)
      const response = await passThrough(entrance, async () => entrance.run(await readContent(route, exchange)))
      return await send(exchange, response)
    } catch (error) {
      // The credential has changed since it was read: read it again, once.
      if (!(error instanceof CredentialChanged) || attempt > 1) throw error
    }
  }
}

/** Credential, rate limit, organization and scope, as far as the kind of route has them. */
function enter(route: ServedRoute, exchange: Exchange): Promise<Entrance> {
  if (route.kind === 'public') return enterPublic(route, exchange)
  if (route.kind === 'account' || route.kind === 'push') return route.enter(exchange)
  return enterOrganization(route, exchange)
}

async function enterPublic(route: PublicRoute, exchange: Exchange): Promise<Entrance> {
  const { services, request } = exchange
  await charge(exchange, 'address', addressKey(request.address))
  return { run: (content) => route.handle({ services, client: clientOf(request), ...content }) }
}

async function passThrough({ reasonFor }: Entrance, work: () => Promise<RouteResponse>): Promise<RouteResponse> {
  try {
    return await work()
  } catch (error) {
    throw reasonFor ? await reasonFor(error) : error
  }
}

async function readContent(route: ServedRoute, exchange: Exchange): Promise<Content> {
  const { request } = exchange
  const url = requestTarget(request)
  const query = queryOf(route, url)
  const params = paramsOf(route, request)
  const conditions = conditionsOf(route, request)
  const body = await bodyOf(route, exchange, { params, query, url })
  return { url, query, params, ...conditions, ...body }
}

function queryOf(route: ServedRoute, url: string): readonly QueryParameter[] {
  if (route.kind === 'push') return parseAnyQuery(url)
  const query = 'resource' in route.query ? withPlainNames(parseQuery(url)) : parseQuery(url)
  if (route.query.kind === 'none') parseNone(query)
  if (route.query.kind === 'parameters') checkParameters(query, route.query)
  return query
}

function conditionsOf(route: ServedRoute, request: FastifyRequest): Pick<Content, 'revisions' | 'idempotencyKey'> {
  const none = { revisions: undefined, idempotencyKey: undefined }
  if (route.method === 'GET') checkReadConditions(request)
  else if (route.kind === 'search') refuseHeaders(request, ['If-None-Match', 'If-Unmodified-Since', 'If-Match'])
  else if (route.kind === 'account')
    refuseHeaders(request, ['If-None-Match', 'If-Unmodified-Since', 'If-Match', 'Idempotency-Key'])
  if (route.kind !== 'write') return none
  refuseHeaders(request, ['If-None-Match', 'If-Unmodified-Since', ...(route.supportsIfMatch ? [] : ['If-Match'])])
  const match = singleHeader(request, 'if-match')
  const revisions = match === undefined ? 'any' : revisionsOf(match)
  const key = singleHeader(request, 'idempotency-key')
  return {
    revisions: revisions === 'any' ? undefined : revisions,
    idempotencyKey: key === undefined ? undefined : checkIdempotencyKey(key),
  }
}

async function bodyOf(
  route: ServedRoute,
  { services, request }: Exchange,
  base: Pick<Content, 'params' | 'query' | 'url'>,
): Promise<Pick<Content, 'body' | 'sent'>> {
  // A body on a GET has no meaning (RFC 9110 section 9.3.1). That of a push is read by its own rules.
  if (route.method === 'GET' || route.kind === 'push') return { body: {}, sent: {} }
  if (route.kind === 'search') return { body: {}, sent: await readSearchBody(route, request) }
  const check = route.kind === 'public' ? route.check : undefined
  const examine = check && ((body: JsonObject) => check({ services, client: clientOf(request), ...base, body }))
  return readRequestBody(route, request, examine)
}

async function send(exchange: Exchange, response: RouteResponse): Promise<void> {
  const { request, reply } = exchange
  const { headers, content } = encode(response)
  reply.headers(headers)
  if (response.waited !== undefined) exchange.requestContext.waited = response.waited
  if (response.cookies) reply.header('set-cookie', [...response.cookies])
  if (isUnchanged(request, headers)) return sendNotModified(exchange)
  if (response.stream) sendStream(exchange, response, response.stream)
  else if (response.fixedText) await response.fixedText.send(request, reply.code(response.status))
  else if (content === undefined) void reply.code(response.status).send()
  else
    void reply
      .code(response.status)
      .type(headers['content-type'] ?? 'application/json; charset=utf-8')
      .send(content)
}

/** Its connection ends with it, so that a stopping service need not wait for the next request. HEAD gets the headers only. */
function sendStream({ request, reply, requestContext }: Exchange, { status }: RouteResponse, stream: Readable): void {
  requestContext.streamedAt = performance.now()
  reply.code(status).header('connection', 'close')
  if (request.method !== 'HEAD') {
    const { socket } = request.raw
    // There is no end to wait for: a client that closes its half of the connection has left. A silent stream would learn
    // of it only when it writes again.
    socket.once('end', () => socket.destroy())
    return void reply.send(stream)
  }
  stream.destroy()
  void reply.send()
}

function isUnchanged(request: FastifyRequest, headers: Record<string, string>): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const none = isRead ? singleHeader(request, 'if-none-match') : undefined
  return headers.etag !== undefined && none !== undefined && !matchesNone(none, headers.etag)
}

/** A 304 costs nothing of the rate limit. */
async function sendNotModified({ services, reply, requestContext }: Exchange): Promise<void> {
  if (requestContext.charged) {
    const { state } = await services.limiter.refund(requestContext.charged.kind, requestContext.charged.key)
    reply.header('ratelimit', state)
  }
  void reply.code(304).send()
}
