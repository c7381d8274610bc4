import type { JsonObject } from '../../platform/model/fields.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountLive, hasRecentAuthentication } from './account-store.ts'
import type { Credential } from '../../platform/http/identifier.ts'
import { apiKeyNotAllowed, invalidToken, reauthenticationRequired } from './auth-errors.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import type { BodyShape } from '../../platform/resource/body.ts'
import { readNone } from '../../platform/query/parse.ts'
import { showId } from '../../platform/model/ids.ts'
import { charge, type RequestContext, singleHeader, requestTarget } from '../../platform/http/request-context.ts'
import { readQuery } from '../../platform/query/query-string.ts'
import type {
  RouteResponse,
  BaseRequest,
  Route,
  AccountRoute as ServedAccountRoute,
  Services,
} from '../../platform/http/route.ts'
import {
  authenticate,
  readRequestBody,
  checkReadConditions,
  clientOf,
  paramsOf,
  unsupportedHeader,
} from '../../platform/http/request-parts.ts'

/** The person who sends the request, and their session; uuids. */
export interface Person {
  userId: string
  sessionId: string
}

export interface AccountRequest<Body = JsonObject> extends BaseRequest {
  person: Person
  /** A transaction in which the session was found active. */
  db: CrossTenantConnection
  body: Body
}

/** For work that takes long before it writes: it holds no database connection until it calls `transact`. */
export interface DetachedAccountRequest<Body = JsonObject> extends Omit<AccountRequest<Body>, 'db'> {
  /** Runs in a transaction in which the session was found active. */
  transact<Result>(work: (db: CrossTenantConnection) => Promise<Result>): Promise<Result>
}

/** A route about the caller's own account, as declared; `toRoute` turns it into a route of the API. */
export type AccountRoute<Body = JsonObject> = Omit<ServedAccountRoute, 'serve' | 'body'> & {
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
} & (
    | { handle(request: AccountRequest<Body>): Promise<RouteResponse> }
    | { handleOutsideTransaction(request: DetachedAccountRequest<Body>): Promise<RouteResponse> }
  )

/** A route whose handler receives the body with the types of the declared fields. */
export const accountRoute = <Body>(route: AccountRoute<Body>): AccountRoute => route as AccountRoute<never>

export const toRoute = (route: AccountRoute): Route => ({
  ...route,
  serve: (services, request, reply, progress) => serveAccount(route, services, request, reply, progress),
})

/** Serves a request about the caller's own account: credential, limit, query and body, then the handler. */
async function serveAccount(
  route: AccountRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: RequestContext,
): Promise<RouteResponse> {
  const credential = await authenticate(services, request, reply, progress)
  progress.credential = showId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  await charge(services, reply, progress, route.method === 'GET' ? 'read' : 'write', credential.id)
  const { tenantKey, ...person } = await personOf(services, request, credential)
  progress.setTenant(tenantKey)
  const url = requestTarget(request)
  const query = readQuery(url)
  if (route.query.kind === 'none') readNone(query)
  assertNoUnsupportedHeaders(route, request)
  const params = paramsOf(route, request)
  const { body } = route.method === 'GET' ? { body: {} } : await readRequestBody(route, request)
  const transact: DetachedAccountRequest['transact'] = (work) =>
    services.database
      .crossTenantTransaction('manage an account', work, { live: accountLive(person), tenantKey })
      .catch((error: unknown) => {
        throw error instanceof CredentialChanged ? invalidToken() : error
      })
  const accountRequest = { services, client: clientOf(request), person, params, query, body, url }
  const assertRecentAuthentication = async (db: CrossTenantConnection) => {
    if (route.requiresRecentAuthentication && !(await hasRecentAuthentication(db, person.sessionId)))
      throw reauthenticationRequired()
  }
  if ('handleOutsideTransaction' in route) {
    await transact(assertRecentAuthentication)
    return route.handleOutsideTransaction({ ...accountRequest, transact })
  }
  return transact(async (db) => {
    await assertRecentAuthentication(db)
    return route.handle({ ...accountRequest, db })
  })
}

/** Rejects API keys. An organization in the header must be one of the person's, although these routes do not use it. */
async function personOf(
  services: Services,
  request: FastifyRequest,
  credential: Credential,
): Promise<Person & { tenantKey: string }> {
  const organization = singleHeader(request, 'service-organization-id')
  if (credential.kind === 'key') {
    await services.identifier.selectOrganization(credential, organization)
    throw apiKeyNotAllowed()
  }
  const { userId, id: sessionId } = credential
  if (organization === undefined) return { userId, sessionId, tenantKey: userId }
  const { organizationId } = await services.identifier.selectOrganization(credential, organization)
  return { userId, sessionId, tenantKey: organizationId }
}

/** Headers that only other routes support are rejected, never ignored. */
function assertNoUnsupportedHeaders(route: AccountRoute, request: FastifyRequest): void {
  if (route.method === 'GET') return checkReadConditions(request)
  for (const name of ['If-Match', 'If-None-Match', 'If-Unmodified-Since', 'Idempotency-Key']) {
    if (singleHeader(request, name.toLowerCase()) !== undefined) throw unsupportedHeader(name)
  }
}
