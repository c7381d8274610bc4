import type { JsonObject } from '../model/fields.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor, Caller } from '../model/caller.ts'
import { AddressNotAllowed } from './identifier.ts'
import { covers } from '../model/scopes.ts'
import { deniedScope } from './denied-scope.ts'
import { deriveKey } from '../secret/secret.ts'
import type { Transaction } from '../database/database.ts'
import { CredentialChanged } from '../database/failures.ts'
import { WorkNeeded } from '../database/work-needed.ts'
import { showId } from '../model/ids.ts'
import { findHolder, UniqueConflict } from '../resource/unique-conflict.ts'
import { readNone } from '../query/parse.ts'
import { recordEffect } from './record-effect.ts'
import { ApiError } from '../model/errors.ts'
import { matchesNone, recordTag, listTag, revisionsOf } from './etag.ts'
import { charge, type RequestContext, singleHeader, requestTarget } from './request-context.ts'
import { checkContentLength, checkContentTypes } from './request-limits.ts'
import { findStoredResponse, type IdempotentRequest, storeResponse } from './idempotency-store.ts'
import { checkIdempotencyKey, requestHash } from './idempotency.ts'
import { withPlainNames } from '../query/nested-names.ts'
import { checkParameters, readQuery } from '../query/query-string.ts'
import { addressKey } from './rate-limit.ts'
import type { RouteResponse, PublicRoute, ScopedRoute, ServedRoute, Services, WriteRoute } from './route.ts'
import {
  authenticate,
  readRequestBody,
  checkReadConditions,
  clientOf,
  paramsOf,
  readSearchBody,
  refusePreconditions,
} from './request-parts.ts'

/** Serves one request in the order of docs/architecture.md, which decides which of several errors is reported. */
export async function serve(
  route: ServedRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
): Promise<void> {
  checkContentLength(route, request)
  checkContentTypes(route, request)
  if (route.kind === 'public')
    return send(
      request,
      reply,
      services,
      requestContext,
      await servePublic(route, services, request, reply, requestContext),
    )
  if (route.kind === 'account' || route.kind === 'push')
    return send(request, reply, services, requestContext, await route.serve(services, request, reply, requestContext))
  for (let attempt = 1; ; attempt++) {
    try {
      const caller = await identify(route, services, request, reply, requestContext)
      const response = await withConfirmedCredential(services, caller, () => runRoute(route, services, request, caller))
      return await send(request, reply, services, requestContext, response)
    } catch (error) {
      // The credential has changed since it was read: read it again, once.
      if (!(error instanceof CredentialChanged) || attempt > 1) throw error
    }
  }
}

async function servePublic(
  route: PublicRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
): Promise<RouteResponse> {
  await charge(services, reply, requestContext, 'address', addressKey(request.address))
  const url = requestTarget(request)
  const query = readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  if (route.query.kind === 'parameters') checkParameters(query, route.query)
  if (route.method === 'GET') checkReadConditions(request)
  const base = { services, client: clientOf(request), params: paramsOf(route, request), query, url }
  const { check } = route
  const examine = check && ((body: JsonObject) => check({ ...base, body }))
  // A body on a GET has no meaning (RFC 9110 section 9.3.1).
  const { body } = route.method === 'GET' ? { body: {} } : await readRequestBody(route, request, examine)
  return route.handle({ ...base, body })
}

async function identify(
  route: ScopedRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
): Promise<Caller> {
  const { identifier } = services
  const credential = await authenticate(services, request, reply, requestContext)
  requestContext.credential = showId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  // The second attempt after a changed credential is already paid for.
  if (requestContext.charged?.key !== credential.id) {
    await charge(services, reply, requestContext, route.kind === 'write' ? 'write' : 'read', credential.id)
  }
  const wanted = singleHeader(request, 'service-organization-id')
  const caller = await identifier.selectOrganization(credential, wanted, request.address).catch((error: unknown) => {
    if (error instanceof AddressNotAllowed) {
      services.denials.record(error.caller, clientOf(request), {
        action: 'access.denied',
        scopeOrReason: 'address',
        route: route.path,
      })
    }
    throw error
  })
  requestContext.organization = showId('org', caller.organizationId)
  requestContext.setTenant(caller.organizationId)
  if (!covers(caller.scopes, route.scope)) {
    await identifier.confirm(caller).catch((error: unknown) => forgetAndRethrow(services, caller, error))
    throw deniedScope({ services, caller, client: clientOf(request), route: route.path }, route.scope)
  }
  if (route.kind === 'write' && route.requiresRecentAuthentication)
    await services.identifier.assertRecentAuthentication(caller)
  return caller
}

/** Runs the work. An error that did not query the database must not hide that the credential was revoked. */
async function withConfirmedCredential(
  services: Services,
  caller: Caller,
  work: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
      await services.identifier.confirm(caller).catch((changed: unknown) => forgetAndRethrow(services, caller, changed))
    }
    return forgetAndRethrow(services, caller, error)
  }
}

function forgetAndRethrow(services: Services, caller: Caller, error: unknown): never {
  if (error instanceof CredentialChanged) services.identifier.forget(caller)
  throw error
}

async function runRoute(
  route: ScopedRoute,
  services: Services,
  request: FastifyRequest,
  caller: Caller,
): Promise<RouteResponse> {
  const url = requestTarget(request)
  const query = 'resource' in route.query ? withPlainNames(readQuery(url)) : readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  if (route.query.kind === 'parameters') checkParameters(query, route.query)
  const params = paramsOf(route, request)
  const client = clientOf(request)
  if (route.kind === 'read') {
    checkReadConditions(request)
    return route.handle({ services, client, caller, db: services.database.reader(caller), params, query, url })
  }
  if (route.kind === 'search') {
    refusePreconditions(request, false)
    const body = await readSearchBody(route, request)
    return route.handle({ services, client, caller, db: services.database.reader(caller), params, query, url, body })
  }
  const revisions = readPreconditions(route, request)
  const idempotentRequest = readIdempotentRequest(services, request, caller)
  const { body, sent } = await readRequestBody(route, request)
  if (idempotentRequest) idempotentRequest.requestHash = requestHash(request.method, url, sent)
  try {
    const run = async (db: Transaction): Promise<RouteResponse> => {
      const stored = idempotentRequest && (await findStoredResponse(db, idempotentRequest))
      if (stored)
        return {
          status: stored.status,
          ...(stored.body !== '' && { text: stored.body }),
          headers: { ...stored.headers, 'idempotent-replayed': 'true' },
        }
      const isSoleOperation = !idempotentRequest && !route.audited
      const wanted = { services, client, caller, db, params, query, body, revisions, isSoleOperation, url }
      const response = withEntityTag(await route.handle(wanted))
      await recordEffect(route, { db, caller, client, params, body, response })
      if (idempotentRequest)
        await storeResponse(db, idempotentRequest, {
          status: response.status,
          headers: response.headers ?? {},
          body: response.text ?? '',
        })
      return response
    }
    const result = await afterNeededWork(services, caller, (actor) => services.database.transaction(actor, run))
    result.afterCommit?.()
    return result
  } catch (error) {
    if (error instanceof UniqueConflict) throw await conflictError(services, caller, error)
    throw error
  }
}

/** A change of the definitions meanwhile may need other work. */
const maxWorks = 3

/** Repeats a transaction after the work that it needs. */
async function afterNeededWork(
  services: Services,
  actor: Actor,
  attempt: (actor: Actor) => Promise<RouteResponse>,
  remaining = maxWorks,
): Promise<RouteResponse> {
  try {
    return await attempt(actor)
  } catch (error) {
    if (!(error instanceof WorkNeeded)) throw error
    if (remaining === 0)
      throw new ApiError('overloaded', 'Other requests changed the same records again and again. Try again later.', {
        headers: { 'retry-after': '5' },
        cause: error,
      })
    const copy = { ...actor }
    await error.work(services, copy)
    return afterNeededWork(services, copy, attempt, remaining - 1)
  }
}

/** 409, with the field and, if the caller may read it, the record that has the value. */
async function conflictError(services: Services, caller: Caller, conflict: UniqueConflict): Promise<ApiError> {
  const { resource, field, reason } = conflict
  const readable = covers(caller.scopes, `${resource.singular}:get:read`)
  const found = readable ? await findHolder(services.database.reader(caller), conflict) : undefined
  const id = found === undefined ? undefined : showId(resource.idPrefix, found)
  const fault = { field, message: id === undefined ? reason : `${reason} (${id})`, ...(id !== undefined && { id }) }
  return new ApiError('already_exists', `${field}: ${fault.message}`, { details: [fault] })
}

/** Reads If-Match as revisions. */
function readPreconditions(route: WriteRoute, request: FastifyRequest): readonly number[] | undefined {
  refusePreconditions(request, route.supportsIfMatch)
  const match = singleHeader(request, 'if-match')
  if (match === undefined) return undefined
  const revisions = revisionsOf(match)
  return revisions === 'any' ? undefined : revisions
}

function readIdempotentRequest(
  services: Services,
  request: FastifyRequest,
  caller: Caller,
): IdempotentRequest | undefined {
  const header = singleHeader(request, 'idempotency-key')
  if (header === undefined) return undefined
  const path = requestTarget(request).split('?')[0]
  return {
    credentialId: caller.credentialId,
    key: `${request.method} ${path} ${checkIdempotencyKey(header)}`,
    requestHash: Buffer.alloc(0),
    secretKey: deriveKey(services.secret, 'idempotency answer'),
  }
}

/** Adds the entity tag: strong for a record, weak for anything else. */
function withEntityTag(response: RouteResponse): RouteResponse {
  if (response.text === undefined || response.headers?.etag !== undefined) return response
  const { text, revision } = response
  const etag = revision === undefined ? listTag(text) : recordTag(revision, text)
  return { ...response, headers: { ...response.headers, etag } }
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
  requestContext: RequestContext,
  result: RouteResponse,
): Promise<void> {
  const response = withEntityTag(result)
  reply.headers(response.headers ?? {})
  if (response.cookies) reply.header('set-cookie', [...response.cookies])
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const etag = reads ? response.headers?.etag : undefined
  const none = singleHeader(request, 'if-none-match')
  if (etag !== undefined && none !== undefined && !matchesNone(none, etag)) {
    if (requestContext.charged) {
      const { state } = await services.limiter.refund(requestContext.charged.kind, requestContext.charged.key)
      reply.header('ratelimit', state)
    }
    void reply.code(304).send()
    return
  }
  if (response.fixedText) await response.fixedText.send(request, reply.code(response.status))
  else if (response.text === undefined) void reply.code(response.status).send()
  else
    void reply
      .code(response.status)
      .type(response.headers?.['content-type'] ?? 'application/json; charset=utf-8')
      .send(response.text)
}
