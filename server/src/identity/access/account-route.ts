import type { FastifyRequest } from 'fastify'
import { accountLive, hasRecentAuthentication } from './account-store.ts'
import type { Credential } from '../../platform/http/protocol/identifier.ts'
import { apiKeyNotAllowed, invalidToken, reauthenticationRequired } from './auth-errors.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import type { BodyShape } from '../../platform/records/request/body.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { charge } from '../../platform/http/request-context.ts'
import type {
  AccountRoute as ServedAccountRoute,
  BaseRequest,
  Entrance,
  Exchange,
  Route,
  RouteResponse,
  Services,
} from '../../platform/http/route.ts'
import { authenticate, clientOf } from '../../platform/http/request-parts.ts'
import { singleHeader } from '../../platform/http/protocol/header.ts'
import type { JsonObject } from '../../platform/model/json.ts'

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
export type AccountRoute<Body = JsonObject> = Omit<ServedAccountRoute, 'enter' | 'body'> & {
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
} & (
    | { handle(request: AccountRequest<Body>): Promise<RouteResponse> }
    | { handleOutsideTransaction(request: DetachedAccountRequest<Body>): Promise<RouteResponse> }
  )

/** A route whose handler receives the body with the types of the declared fields. */
export const accountRoute = <Body>(route: AccountRoute<Body>): AccountRoute => route as AccountRoute<never>

export const toRoute = (route: AccountRoute): Route => ({
  ...route,
  enter: (exchange) => enterAccount(route, exchange),
})

/** Lets in the person whose session it is. */
async function enterAccount(route: AccountRoute, exchange: Exchange): Promise<Entrance> {
  const { services, request, requestContext } = exchange
  const credential = await authenticate(exchange)
  requestContext.credential = encodeId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  await charge(exchange, route.method === 'GET' ? 'read' : 'write', credential.id)
  const { tenantKey, ...person } = await personOf(services, request, credential)
  requestContext.setTenant(tenantKey)
  const transact: DetachedAccountRequest['transact'] = (work) =>
    services.database
      .crossTenantTransaction('manage an account', work, { live: accountLive(person), tenantKey })
      .catch((error: unknown) => {
        throw error instanceof CredentialChanged ? invalidToken() : error
      })
  const assertRecentAuthentication = async (db: CrossTenantConnection) => {
    if (route.requiresRecentAuthentication && !(await hasRecentAuthentication(db, person.sessionId)))
      throw reauthenticationRequired()
  }
  return {
    async run(content) {
      const accountRequest = { services, client: clientOf(request), person, ...content }
      if ('handleOutsideTransaction' in route) {
        await transact(assertRecentAuthentication)
        return route.handleOutsideTransaction({ ...accountRequest, transact })
      }
      return transact(async (db) => {
        await assertRecentAuthentication(db)
        return route.handle({ ...accountRequest, db })
      })
    },
  }
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
