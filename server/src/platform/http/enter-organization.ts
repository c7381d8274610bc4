import type { Actor, Caller } from '../model/caller.ts'
import type { Transaction } from '../database/database.ts'
import { CredentialChanged } from '../database/failures.ts'
import { WorkNeeded } from '../database/work-needed.ts'
import { ApiError } from '../model/errors.ts'
import { encodeId } from '../model/ids.ts'
import { covers } from '../model/scopes.ts'
import { findHolder, UniqueConflict } from '../records/write/unique-conflict.ts'
import { deriveKey } from '../secret/secret.ts'
import { deniedScope } from './effects/denied-scope.ts'
import { withEntityTag } from './protocol/etag.ts'
import { AddressNotAllowed } from './protocol/identifier.ts'
import { requestHash } from './effects/idempotency.ts'
import { findStoredResponse, type IdempotentRequest, storeResponse } from './effects/idempotency-store.ts'
import { recordEffect } from './effects/record-effect.ts'
import { charge } from './request-context.ts'
import { authenticate, clientOf } from './request-parts.ts'
import type { Content, Entrance, Exchange, RouteResponse, ScopedRoute, Services } from './route.ts'
import { singleHeader } from './protocol/header.ts'

/** Who acts for which organization, whether they may, and the work on its records. */
export async function enterOrganization(route: ScopedRoute, exchange: Exchange): Promise<Entrance> {
  const { services } = exchange
  const caller = await identify(route, exchange)
  return {
    run: (content) => run(route, exchange, caller, content),
    // An error that did not query the database must not hide that the credential was revoked.
    reasonFor: async (error) => {
      if (!(error instanceof ApiError) || error.status >= 500) return forgotten(services, caller, error)
      return services.identifier.confirm(caller).then(
        () => error,
        (changed: unknown) => forgotten(services, caller, changed),
      )
    },
  }
}

async function identify(route: ScopedRoute, exchange: Exchange): Promise<Caller> {
  const { services, request, requestContext } = exchange
  const { identifier } = services
  const credential = await authenticate(exchange)
  requestContext.credential = encodeId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  // The second attempt after a changed credential is already paid for.
  if (requestContext.charged?.key !== credential.id) {
    await charge(exchange, route.kind === 'write' ? 'write' : 'read', credential.id)
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
  requestContext.organization = encodeId('org', caller.organizationId)
  requestContext.setTenant(caller.organizationId)
  if (!covers(caller.scopes, route.scope)) {
    await identifier.confirm(caller).catch((error: unknown) => {
      throw forgotten(services, caller, error)
    })
    throw deniedScope({ services, caller, client: clientOf(request), route: route.path }, route.scope)
  }
  if (route.kind !== 'search' && route.requiresRecentAuthentication) await identifier.assertRecentAuthentication(caller)
  return caller
}

/** The error; if it says that the credential has changed, the next request reads it again. */
function forgotten(services: Services, caller: Caller, error: unknown): unknown {
  if (error instanceof CredentialChanged) services.identifier.forget(caller)
  return error
}

async function run(
  route: ScopedRoute,
  { services, request }: Exchange,
  caller: Caller,
  content: Content,
): Promise<RouteResponse> {
  const base = { services, client: clientOf(request), caller, ...content }
  if (route.kind === 'read') return route.handle({ ...base, db: services.database.reader(caller) })
  if (route.kind === 'search')
    return route.handle({ ...base, body: content.sent, db: services.database.reader(caller) })
  const idempotentRequest = idempotentRequestOf(services, request.method, caller, content)
  try {
    const work = async (db: Transaction): Promise<RouteResponse> => {
      const stored = idempotentRequest && (await findStoredResponse(db, idempotentRequest))
      if (stored)
        return {
          status: stored.status,
          ...(stored.body !== '' && { text: stored.body }),
          headers: { ...stored.headers, 'idempotent-replayed': 'true' },
        }
      const isSoleOperation = !idempotentRequest && !route.audited
      const response = withEntityTag(await route.handle({ ...base, db, isSoleOperation }))
      await recordEffect(route, { ...base, db, response })
      if (idempotentRequest)
        await storeResponse(db, idempotentRequest, {
          status: response.status,
          headers: response.headers ?? {},
          body: response.text ?? '',
        })
      return response
    }
    const result = await afterNeededWork(services, caller, (actor) => services.database.transaction(actor, work))
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
  const id = found === undefined ? undefined : encodeId(resource.idPrefix, found)
  const error = { field, message: id === undefined ? reason : `${reason} (${id})`, ...(id !== undefined && { id }) }
  return new ApiError('already_exists', `${field}: ${error.message}`, { details: [error] })
}

function idempotentRequestOf(
  services: Services,
  method: string,
  caller: Caller,
  { idempotencyKey, url, sent }: Content,
): IdempotentRequest | undefined {
  if (idempotencyKey === undefined) return undefined
  return {
    credentialId: caller.credentialId,
    key: `${method} ${url.split('?')[0]} ${idempotencyKey}`,
    requestHash: requestHash(method, url, sent),
    secretKey: deriveKey(services.secret, 'idempotency answer'),
  }
}
