import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Credential } from '../access/identify.ts'
import type { Caller } from '../access/caller.ts'
import { covers } from '../access/scopes.ts'
import { deriveKey } from '../access/secret.ts'
import { CredentialChanged } from '../database/database.ts'
import { readBody } from '../resource/body.ts'
import type { AnyRow } from '../resource/define.ts'
import { readId, showId } from '../resource/ids.ts'
import { UniqueConflict } from '../resource/write.ts'
import { readNone } from '../query/parse.ts'
import { ApiError, invalidBody, invalidParameters } from './errors.ts'
import { checkTags, matchesNone, recordTag, listTag, revisionsOf } from './etag.ts'
import { charge, noRecord, type Progress, single, targetOf } from './exchange.ts'
import { checkMedia, readBytes } from './frame.ts'
import { findAnswer, type IdempotentUse, keepAnswer } from './idempotency-store.ts'
import { checkIdempotencyKey, requestHash } from './idempotency.ts'
import { readJson } from './json.ts'
import { readQuery } from './query-string.ts'
import { addressKey } from './rate-limit.ts'
import type { Answer, PublicRoute, ReadRoute, Route, Services, WriteRoute } from './route.ts'
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
  if (route.method === 'GET') checkReadConditions(request)
  // What a GET sends along has no meaning (RFC 9110 section 9.3.1).
  const { body } = route.method === 'GET' ? { body: {} } : await bodyOf(route, request, progress)
  return route.handle({ services, params: {}, query, body, url })
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
  const caller = await identifier.selectOrganization(credential, single(request, 'service-organization-id'))
  progress.organization = showId('org', caller.organizationId)
  if (!covers(caller.scopes, route.scope)) {
    await identifier.confirm(caller).catch((error: unknown) => forgetting(services, caller, error))
    throw new ApiError('missing_scopes', 'The credential must have the required scopes.', {
      details: [{ field: 'scope', message: `urn:service:${route.scope}` }],
    })
  }
  return caller
}

/**
 * Attempts that fail, and they alone, are charged to their address: a good credential is never refused for what others
 * behind the same proxy send.
 */
async function authenticate(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Credential> {
  const header = request.headers.authorization
  try {
    return await services.identifier.authenticate(header)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      charge(services, reply, progress, header === undefined ? 'address' : 'key', addressKey(request.ip))
    }
    throw error
  }
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
  if (route.kind === 'read') {
    checkReadConditions(request)
    return route.handle({ services, caller, db: services.database.reader(caller), params, query, url })
  }
  const revisions = preconditions(route, request)
  const use = idempotentUse(route, services, request, caller)
  const { body, bytes } = await bodyOf(route, request, progress)
  if (use) use.requestHash = requestHash(request.method, url, bytes)
  try {
    return await services.database.transaction(caller, async (db) => {
      const kept = use && (await findAnswer(db, use))
      if (kept)
        return { status: kept.status, text: kept.body, headers: { ...kept.headers, 'idempotent-replayed': 'true' } }
      const answer = tagged(await route.handle({ services, caller, db, params, query, body, revisions, url }))
      if (use)
        await keepAnswer(db, use, { status: answer.status, headers: answer.headers ?? {}, body: answer.text ?? '' })
      return answer
    })
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

/** The ids of the path. One of another form is looked up like one that does not exist, and as late. */
function paramsOf(route: Route, request: FastifyRequest): Record<string, string> {
  const given = request.params as Record<string, string>
  return Object.fromEntries(
    Object.entries(route.params).map(([name, { prefix }]) => {
      const text = given[name] ?? ''
      if (text.includes('\0')) throw invalidParameters([{ field: name, message: 'must not hold NUL' }])
      return [name, readId(prefix, text) ?? noRecord]
    }),
  )
}

/** A read heeds If-None-Match alone. */
function checkReadConditions(request: FastifyRequest): void {
  if (single(request, 'if-match') !== undefined) throw unheeded('If-Match')
  const none = single(request, 'if-none-match')
  if (none !== undefined) checkTags('If-None-Match', none)
}

const unheeded = (field: string) => invalidParameters([{ field, message: 'is not taken on this request' }])

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

async function bodyOf(
  route: WriteRoute | PublicRoute,
  request: FastifyRequest,
  progress: Progress,
): Promise<{ body: AnyRow; bytes: Uint8Array }> {
  const bytes = (progress.bytes ??= await readBytes(request.raw))
  const { body } = route
  if (!body) {
    if (bytes.length === 0) return { body: {}, bytes }
    const value = readJson(bytes)
    const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : ['body']
    if (names.length > 0) throw invalidBody(names.map((field) => ({ field, message: 'this request takes no body' })))
    return { body: {}, bytes }
  }
  const isLeftOut = !body.required && bytes.length === 0
  return { body: readBody(body.shape, isLeftOut ? {} : readJson(bytes)), bytes }
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
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const etag = reads ? answer.headers?.etag : undefined
  // May be kept, so that If-None-Match has a use, and has to be asked for each time, so that nothing outlives a key.
  if (etag !== undefined) reply.header('cache-control', 'private, no-cache')
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
