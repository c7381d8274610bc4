import type { JsonObject } from '../model/fields.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../model/caller.ts'
import { AddressRefused } from './identifier.ts'
import { covers, missingScopeReason } from '../model/scopes.ts'
import { deriveKey } from '../secret/secret.ts'
import { CredentialChanged } from '../database/failures.ts'
import { showId } from '../model/ids.ts'
import { UniqueConflict } from '../resource/unique-conflict.ts'
import { readNone } from '../query/parse.ts'
import { recordEffect } from './audited.ts'
import { ApiError } from '../model/errors.ts'
import { matchesNone, recordTag, listTag, revisionsOf } from './etag.ts'
import { charge, type Progress, single, targetOf } from './exchange.ts'
import { checkLength, checkMedia } from './frame.ts'
import { findAnswer, type IdempotentUse, keepAnswer } from './idempotency-store.ts'
import { checkIdempotencyKey, requestHash } from './idempotency.ts'
import { checkWords, readQuery } from '../query/query-string.ts'
import { addressKey } from './rate-limit.ts'
import type { Answer, PublicRoute, ReadRoute, ServedRoute, Services, WriteRoute } from './route.ts'
import { authenticate, bodyOf, checkReadConditions, clientOf, paramsOf, unheeded } from './serve-parts.ts'

/**
 * Answers one request, in the order of docs/architecture.md: frame, credential, limit, organization, scope, query and
 * body, then the work. The order decides which fault a caller sees who made several.
 */
export async function serve(
  route: ServedRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<void> {
  checkLength(route, request)
  checkMedia(route, request)
  if (route.kind === 'public')
    return send(request, reply, services, progress, await servePublic(route, services, request, reply, progress))
  if (route.kind === 'account' || route.kind === 'push')
    return send(request, reply, services, progress, await route.serve(services, request, reply, progress))
  for (let attempt = 1; ; attempt++) {
    try {
      const caller = await identify(route, services, request, reply, progress)
      const answer = await confirmed(services, caller, () => perform(route, services, request, caller))
      return await send(request, reply, services, progress, answer)
    } catch (error) {
      // The credential was changed or revoked since it was read: read it again, once.
      if (!(error instanceof CredentialChanged) || attempt > 1) throw error
    }
  }
}

async function servePublic(
  route: PublicRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Answer> {
  await charge(services, reply, progress, 'address', addressKey(request.address))
  const url = targetOf(request)
  const query = readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  if (route.query.kind === 'words') checkWords(query, route.query)
  if (route.method === 'GET') checkReadConditions(request)
  const base = { services, client: clientOf(request), params: paramsOf(route, request), query, url }
  const { check } = route
  const examine = check && ((body: JsonObject) => check({ ...base, body }))
  // What a GET sends along has no meaning (RFC 9110 section 9.3.1).
  const { body } = route.method === 'GET' ? { body: {} } : await bodyOf(route, request, examine)
  return route.handle({ ...base, body })
}

/** Credential, limit, organization, scope. */
async function identify(
  route: ReadRoute | WriteRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Caller> {
  const { identifier } = services
  const credential = await authenticate(services, request, reply, progress)
  progress.credential = showId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  // A repeated attempt after a changed credential has paid already.
  if (progress.charged?.key !== credential.id) {
    await charge(services, reply, progress, route.kind === 'read' ? 'read' : 'write', credential.id)
  }
  const wanted = single(request, 'service-organization-id')
  const caller = await identifier.selectOrganization(credential, wanted, request.address).catch((error: unknown) => {
    if (error instanceof AddressRefused) {
      services.denials.note(error.caller, clientOf(request), {
        action: 'access.denied',
        about: 'address',
        route: route.path,
      })
    }
    throw error
  })
  progress.organization = showId('org', caller.organizationId)
  if (!covers(caller.scopes, route.scope)) {
    await identifier.confirm(caller).catch((error: unknown) => forgetting(services, caller, error))
    const scope = `urn:service:${route.scope}`
    services.denials.note(caller, clientOf(request), { action: 'scope.denied', about: scope, route: route.path })
    throw new ApiError('missing_scopes', missingScopeReason(route.scope), {
      details: [{ field: 'scope', message: scope }],
    })
  }
  if (route.kind === 'write' && route.fresh) await services.identifier.assertFresh(caller)
  return caller
}

/** Runs the work; a refusal that never reached the database must not hide that the credential is revoked. */
async function confirmed(services: Services, caller: Caller, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500) {
      await services.identifier.confirm(caller).catch((changed: unknown) => forgetting(services, caller, changed))
    }
    return forgetting(services, caller, error)
  }
}

function forgetting(services: Services, caller: Caller, error: unknown): never {
  if (error instanceof CredentialChanged) services.identifier.forget(caller)
  throw error
}

async function perform(
  route: ReadRoute | WriteRoute,
  services: Services,
  request: FastifyRequest,
  caller: Caller,
): Promise<Answer> {
  const url = targetOf(request)
  const query = readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  const params = paramsOf(route, request)
  const client = clientOf(request)
  if (route.kind === 'read') {
    checkReadConditions(request)
    return route.handle({ services, client, caller, db: services.database.reader(caller), params, query, url })
  }
  const revisions = preconditions(route, request)
  const use = idempotentUse(services, request, caller)
  const { body, sent } = await bodyOf(route, request)
  if (use) use.requestHash = requestHash(request.method, url, sent)
  try {
    const given = await services.database.transaction<Answer>(caller, async (db) => {
      const kept = use && (await findAnswer(db, use))
      if (kept)
        return {
          status: kept.status,
          ...(kept.body !== '' && { text: kept.body }),
          headers: { ...kept.headers, 'idempotent-replayed': 'true' },
        }
      const isAlone = !use && !route.audited
      const wanted = { services, client, caller, db, params, query, body, revisions, isAlone, url }
      const answer = tagged(await route.handle(wanted))
      await recordEffect(route, { db, caller, client, params, body, answer })
      if (use)
        await keepAnswer(db, use, { status: answer.status, headers: answer.headers ?? {}, body: answer.text ?? '' })
      return answer
    })
    given.onceCommitted?.()
    return given
  } catch (error) {
    if (error instanceof UniqueConflict) throw await conflict(services, caller, error)
    throw error
  }
}

/** 409 that names the field and, where the caller may read it, the record that holds the value. */
async function conflict(
  services: Services,
  caller: Caller,
  { resource, field, holder, reason }: UniqueConflict,
): Promise<ApiError> {
  const readable = covers(caller.scopes, `${resource.singular}:get:read`)
  const [row] = readable ? await services.database.reader(caller).query<{ id: string }>(holder) : []
  const id = row && showId(resource.idPrefix, row.id)
  const fault = { field, message: id === undefined ? reason : `${reason} (${id})`, ...(id !== undefined && { id }) }
  return new ApiError('already_exists', `${field}: ${fault.message}`, { details: [fault] })
}

/** If-Match as revisions; If-None-Match on a change can only ask for a record that is not there yet. */
function preconditions(route: WriteRoute, request: FastifyRequest): readonly number[] | undefined {
  const match = single(request, 'if-match')
  const none = single(request, 'if-none-match')
  if (none !== undefined) throw unheeded('If-None-Match')
  if (single(request, 'if-unmodified-since') !== undefined) throw unheeded('If-Unmodified-Since')
  if (match === undefined) return undefined
  if (!route.conditional) throw unheeded('If-Match')
  const revisions = revisionsOf(match)
  return revisions === 'any' ? undefined : revisions
}

function idempotentUse(services: Services, request: FastifyRequest, caller: Caller): IdempotentUse | undefined {
  const header = single(request, 'idempotency-key')
  if (header === undefined) return undefined
  const path = targetOf(request).split('?')[0]
  return {
    credentialId: caller.credentialId,
    key: `${request.method} ${path} ${checkIdempotencyKey(header)}`,
    requestHash: Buffer.alloc(0),
    secretKey: deriveKey(services.secret, 'idempotency answer'),
  }
}

/** Adds the entity tag: strong for a record, weak for anything else. */
function tagged(answer: Answer): Answer {
  if (answer.text === undefined || answer.headers?.etag !== undefined) return answer
  const { text, revision } = answer
  const etag = revision === undefined ? listTag(text) : recordTag(revision, text)
  return { ...answer, headers: { ...answer.headers, etag } }
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
  progress: Progress,
  given: Answer,
): Promise<void> {
  const answer = tagged(given)
  reply.headers(answer.headers ?? {})
  if (answer.cookies) reply.header('set-cookie', [...answer.cookies])
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const etag = reads ? answer.headers?.etag : undefined
  const none = single(request, 'if-none-match')
  if (etag !== undefined && none !== undefined && !matchesNone(none, etag)) {
    if (progress.charged) {
      const { state } = await services.limiter.refund(progress.charged.kind, progress.charged.key)
      reply.header('ratelimit', state)
    }
    void reply.code(304).send()
    return
  }
  if (answer.text === undefined) void reply.code(answer.status).send()
  else
    void reply
      .code(answer.status)
      .type(answer.headers?.['content-type'] ?? 'application/json; charset=utf-8')
      .send(answer.text)
}
