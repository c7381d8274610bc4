import type { IncomingMessage } from 'node:http'
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
import { matchesNone, recordTag, listTag, revisionsOf } from './etag.ts'
import { findAnswer, type IdempotentUse, keepAnswer } from './idempotency-store.ts'
import { checkIdempotencyKey, requestHash } from './idempotency.ts'
import { readJson } from './json.ts'
import { checkRequestMedia } from './media.ts'
import { type QueryParameter, readPath, readQuery } from './query-string.ts'
import { addressKey, type Allowance, type RateKind } from './rate-limit.ts'
import type { Answer, PublicRoute, ReadRoute, Route, Services, WriteRoute } from './route.ts'

export const largestBody = 1024 * 1024
const longestUrl = 8 * 1024

/** What is known of a request while it is answered; the log line is made from it. */
export interface Progress {
  route: string
  credential?: string
  organization?: string
  /** The bucket that was charged, to give the token of a 304 back. */
  charged?: { kind: RateKind; key: string }
}

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
  checkFrame(route, request)
  const query = readQuery(request.raw.url ?? '')
  if (route.kind === 'public')
    return send(request, reply, services, progress, await servePublic(route, services, request, reply, progress, query))
  for (let attempt = 1; ; attempt++) {
    try {
      const caller = await identify(route, services, request, reply, progress)
      const answer = await confirmed(services, caller, () => perform(route, services, request, caller, query))
      return await send(request, reply, services, progress, answer)
    } catch (error) {
      // The credential was changed or revoked since it was read: read it again, once.
      if (!(error instanceof CredentialChanged) || attempt > 1) throw error
    }
  }
}

/** Limits and media, before anything is looked up. */
export function checkFrame(route: Route | undefined, request: FastifyRequest): void {
  const { headers, method, raw } = request
  if ((raw.url ?? '').length > longestUrl) throw new ApiError('uri_too_long', 'A URL may have at most 8 KiB.')
  const length = Number(headers['content-length'] ?? 0)
  if (length > largestBody) throw tooLarge()
  const sendsBody = length > 0 || headers['transfer-encoding'] !== undefined
  const takesBody = route === undefined || (route.kind !== 'read' && route.body !== undefined)
  const merge = route?.method === 'PATCH' ? ['application/merge-patch+json'] : []
  checkRequestMedia({
    method,
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    accept: headers.accept,
    allowed: sendsBody && takesBody ? ['application/json', ...merge] : [],
  })
}

async function servePublic(
  route: PublicRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
  query: readonly QueryParameter[],
): Promise<Answer> {
  charge(services, reply, progress, 'address', addressKey(request.ip))
  if (route.query.kind === 'none') readNone(query)
  const { body } = await bodyOf(route, request)
  return route.handle({ services, params: {}, query, body, url: request.raw.url ?? '' })
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

/** Attempts that fail are charged to their address, so that keys cannot be guessed at full speed. */
async function authenticate(
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Credential> {
  const address = addressKey(request.ip)
  const header = request.headers.authorization
  if (header !== undefined) {
    const failures = services.limiter.check('key', address)
    if (!failures.allowed) throw limited(failures)
  }
  try {
    return await services.identifier.authenticate(header)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      charge(services, reply, progress, header === undefined ? 'address' : 'key', address)
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
  query: readonly QueryParameter[],
): Promise<Answer> {
  const url = request.raw.url ?? ''
  if (route.query.kind === 'none') readNone(query)
  if (route.kind === 'read') {
    const params = paramsOf(route, request)
    return route.handle({ services, caller, db: services.database.reader(caller), params, query, url })
  }
  const revisions = preconditions(route, request)
  const use = idempotentUse(route, services, request, caller)
  const { body, bytes } = await bodyOf(route, request)
  if (use) use.requestHash = requestHash(request.method, url, bytes)
  const params = paramsOf(route, request)
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

/** The ids of the path. One of another form names no record: it is as unknown as one that does not exist. */
function paramsOf(route: Route, request: FastifyRequest): Record<string, string> {
  const given = request.params as Record<string, string>
  return Object.fromEntries(
    Object.entries(route.params).map(([name, { prefix, resource }]) => {
      const id = readId(prefix, readPath(given[name] ?? '', name))
      if (id === undefined) throw new ApiError('not_found', `There is no ${resource} with this id.`)
      return [name, id]
    }),
  )
}

/** If-Match as revisions; If-None-Match on a change can only ask for a record that is not there yet. */
function preconditions(route: WriteRoute, request: FastifyRequest): readonly number[] | undefined {
  const match = single(request, 'if-match')
  const none = single(request, 'if-none-match')
  const unheeded = route.conditional ? none && 'If-None-Match' : (match && 'If-Match') || (none && 'If-None-Match')
  if (unheeded) throw invalidParameters([{ field: unheeded, message: 'is not taken on this request' }])
  if (match === undefined) return undefined
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
  const path = (request.raw.url ?? '').split('?')[0]
  return {
    credentialId: caller.credentialId,
    key: `${request.method} ${path} ${checkIdempotencyKey(header)}`,
    requestHash: Buffer.alloc(0),
    secretKey: deriveKey(services.secret, 'idempotency answer'),
  }
}

/** A header that may stand once; Node joins repeated ones with a comma, or keeps a list. */
function single(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

async function bodyOf(
  route: WriteRoute | PublicRoute,
  request: FastifyRequest,
): Promise<{ body: AnyRow; bytes: Uint8Array }> {
  const bytes = await readBytes(request.raw)
  const { body } = route
  if (!body) {
    if (bytes.length === 0) return { body: {}, bytes }
    const value = readJson(bytes)
    const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : ['body']
    if (names.length > 0) throw invalidBody(names.map((field) => ({ field, message: 'this request takes no body' })))
    return { body: {}, bytes }
  }
  return { body: readBody(body.shape, readJson(bytes)), bytes }
}

async function readBytes(stream: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > largestBody) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const tooLarge = () =>
  new ApiError('payload_too_large', 'A body may have at most 1 MiB.', { headers: { connection: 'close' } })

function charge(services: Services, reply: FastifyReply, progress: Progress, kind: RateKind, key: string): void {
  const allowance = services.limiter.charge(kind, key)
  progress.charged = { kind, key }
  if (!allowance.allowed) throw limited(allowance)
  reply.header('ratelimit-policy', allowance.policy).header('ratelimit', allowance.state)
}

const limited = ({ policy, state, retryAfterSeconds }: Allowance) =>
  new ApiError('rate_limited', `Try again in ${retryAfterSeconds} s.`, {
    headers: { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': String(retryAfterSeconds) },
  })

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
  const none = request.method === 'GET' || request.method === 'HEAD' ? single(request, 'if-none-match') : undefined
  if (none !== undefined && answer.headers?.etag !== undefined && !matchesNone(none, answer.headers.etag)) {
    if (progress.charged) {
      reply.header('ratelimit', services.limiter.refund(progress.charged.kind, progress.charged.key).state)
    }
    await reply.code(304).send()
    return
  }
  if (answer.text === undefined) await reply.code(answer.status).send()
  else
    await reply
      .code(answer.status)
      .type(answer.headers?.['content-type'] ?? 'application/json; charset=utf-8')
      .send(answer.text)
}
