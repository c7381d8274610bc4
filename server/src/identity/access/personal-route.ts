import { CredentialChanged } from '../../platform/database/failures.ts'
import type { Connection, Transaction } from '../../platform/database/database.ts'
import { charge } from '../../platform/http/request-context.ts'
import { authenticate, clientOf } from '../../platform/http/request-parts.ts'
import { singleHeader } from '../../platform/http/protocol/header.ts'
import type {
  AccountRoute,
  BaseRequest,
  Content,
  Entrance,
  Exchange,
  Route,
  RouteResponse,
} from '../../platform/http/route.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { encodeId } from '../../platform/model/ids.ts'
import type { BodyShape } from '../../platform/records/request/body.ts'
import { apiKeyNotAllowed } from './auth-errors.ts'

interface PersonalRequest extends BaseRequest {
  /** The person, with their role in the organization of the request. */
  caller: Caller
}

/** A request that reads what belongs to a person in an organization. */
export interface PersonalRead extends PersonalRequest {
  db: Connection
}

export interface PersonalWrite<Body> extends PersonalRequest {
  db: Transaction
  body: Body
}

/** A route about what a person has in one organization, whatever their role; accepts access tokens but no API keys. */
export type PersonalRoute<Body = never> = Omit<AccountRoute, 'enter' | 'body' | 'kind'> & {
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
} & (
    | { read(request: PersonalRead): Promise<RouteResponse> }
    | { write(request: PersonalWrite<Body>): Promise<RouteResponse> }
  )

export const personalRoute = <Body>(route: PersonalRoute<Body>): Route => toRoute(route as PersonalRoute)

const toRoute = (route: PersonalRoute): Route => ({
  ...route,
  kind: 'account',
  enter: (exchange) => enter(route, exchange),
})

async function enter(route: PersonalRoute, exchange: Exchange): Promise<Entrance> {
  const { services, request, requestContext } = exchange
  const { identifier } = services
  const credential = await authenticate(exchange)
  requestContext.credential = encodeId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  // The second attempt after a changed credential is already paid for.
  if (requestContext.charged?.key !== credential.id)
    await charge(exchange, route.method === 'GET' ? 'read' : 'write', credential.id)
  const wanted = singleHeader(request, 'service-organization-id')
  const caller = await identifier.selectOrganization(credential, wanted, request.address)
  if (caller.kind === 'key') throw apiKeyNotAllowed()
  requestContext.organization = encodeId('org', caller.organizationId)
  requestContext.setTenant(caller.organizationId)
  return {
    run: (content) => run(route, exchange, caller, content),
    async reasonFor(error) {
      if (error instanceof CredentialChanged) identifier.forget(caller)
      return error
    },
  }
}

async function run(route: PersonalRoute, { services, request }: Exchange, caller: Caller, content: Content) {
  const base = { services, client: clientOf(request), caller, ...content }
  if ('read' in route) return route.read({ ...base, db: services.database.reader(caller) })
  const { body } = content
  const response = await services.database.transaction(caller, (db) =>
    route.write({ ...base, db, body: body as never }),
  )
  response.afterCommit?.()
  return response
}
