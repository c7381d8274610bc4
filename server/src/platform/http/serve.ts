import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../access/caller.ts'
import { assertFresh } from '../access/fresh.ts'
import { AddressRefused } from '../access/refusals.ts'
import { covers } from '../access/scopes.ts'
import { deriveKey } from '../access/secret.ts'
import { CredentialChanged } from '../database/failures.ts'
import { showId } from '../resource/ids.ts'
import { UniqueConflict } from '../resource/write.ts'
import { readNone } from '../query/parse.ts'
import { recordEffect } from './audited.ts'
import { ApiError, invalidParameters } from './errors.ts'
import { matchesNone, recordTag, listTag, revisionsOf } from './etag.ts'
import { charge, type Progress, single, targetOf } from './exchange.ts'
import { checkMedia } from './frame.ts'
import { findAnswer, type IdempotentUse, keepAnswer } from './idempotency-store.ts'
import { checkIdempotencyKey, requestHash } from './idempotency.ts'
import { checkWords, readQuery } from './query-string.ts'
import { addressKey } from './rate-limit.ts'
import type { Answer, PublicRoute, ReadRoute, Route, Services, WriteRoute } from './route.ts'
import { serveAccount } from './serve-account.ts'
import { authenticate, bodyOf, checkReadConditions, clientOf, paramsOf, unheeded } from './serve-parts.ts'
import { servePush } from './serve-push.ts'

/**
 * Answers one request, in the order of docs/architecture.md: frame, credential, limit, organization, scope, query and
 * body, then the work. The order decides which fault a caller sees who made several.
 */
export async function serve(
  route: Route,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<void> {
  checkMedia(route, request)
  if (route.kind === 'public')
    return send(request, reply, services, progress, await servePublic(route, services, request, reply, progress))
  if (route.kind === 'account')
    return send(request, reply, services, progress, await serveAccount(route, services, request, reply, progress))
  if (route.kind === 'push')
    return send(request, reply, services, progress, await servePush(route, services, request, reply, progress))
  for (let attempt = 1; ; attempt++) {
    try {
      const caller = await identify(route, services, request, reply, progress)
      const answer = await confirmed(services, caller, () => perform(route, services, request, caller, progress))
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
  charge(services, reply, progress, 'address', addressKey(request.ip))
  const url = targetOf(request)
  const query = readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  if (route.query.kind === 'words') checkWords(query, route.query)
  if (route.method === 'GET') checkReadConditions(request)
  // What a GET sends along has no meaning (RFC 9110 section 9.3.1).
  const { body } = route.method === 'GET' ? { body: {} } : await bodyOf(route, request, progress)
  return route.handle({ services, client: clientOf(request), params: paramsOf(route, request), query, body, url })
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
    charge(services, reply, progress, route.kind === 'read' ? 'read' : 'write', credential.id)
  }
  const wanted = single(request, 'service-organization-id')
  const caller = await identifier.selectOrganization(credential, wanted, request.ip).catch((error: unknown) => {
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
    throw new ApiError('missing_scopes', 'The credential must have the required scopes.', {
      details: [{ field: 'scope', message: scope }],
    })
  }
  if (route.kind === 'write' && route.fresh) await assertFresh(services, caller)
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
  progress: Progress,
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
  const use = idempotentUse(route, services, request, caller)
  const { body, bytes } = await bodyOf(route, request, progress)
  if (use) use.requestHash = requestHash(request.method, url, bytes)
  try {
    const given = await services.database.transaction<Answer>(caller, async (db) => {
      const kept = use && (await findAnswer(db, use))
      if (kept)
        return { status: kept.status, text: kept.body, headers: { ...kept.headers, 'idempotent-replayed': 'true' } }
      const answer = tagged(await route.handle({ services, client, caller, db, params, query, body, revisions, url }))
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
  { resource, field, holder }: UniqueConflict,
): Promise<ApiError> {
  const readable = covers(caller.scopes, `${resource.singular}:get:read`)
  const [row] = readable ? await services.database.reader(caller).query<{ id: string }>(holder) : []
  const held = row ? ` (${showId(resource.idPrefix, row.id)})` : ''
  const message = `is taken by another ${resource.singular}${held}`
  return new ApiError('already_exists', `${field}: ${message}`, { details: [{ field, message }] })
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

function idempotentUse(
  route: WriteRoute,
  services: Services,
  request: FastifyRequest,
  caller: Caller,
): IdempotentUse | undefined {
  const header = single(request, 'idempotency-key')
  if (header === undefined) return undefined
  if (route.method === 'DELETE') {
    throw invalidParameters([
      { field: 'Idempotency-Key', message: 'is taken on POST and PATCH; DELETE can be repeated as it is' },
    ])
  }
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
  // May be kept, so that If-None-Match has a use, and has to be asked for each time, so that nothing outlives a key.
  if (etag !== undefined && answer.headers?.['cache-control'] === undefined) {
    reply.header('cache-control', 'private, no-cache')
  }
  const none = single(request, 'if-none-match')
  if (etag !== undefined && none !== undefined && !matchesNone(none, etag)) {
    if (progress.charged) {
      reply.header('ratelimit', services.limiter.refund(progress.charged.kind, progress.charged.key).state)
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
