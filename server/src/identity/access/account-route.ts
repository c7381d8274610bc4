import type { JsonObject } from '../../platform/model/fields.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountLive, isFresh } from './account-store.ts'
import type { Credential } from '../../platform/http/identifier.ts'
import { insufficientKind, invalidToken, proofRequired } from './refusals.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import type { BodyShape } from '../../platform/resource/body.ts'
import { readNone } from '../../platform/query/parse.ts'
import { showId } from '../../platform/model/ids.ts'
import { charge, type Progress, single, targetOf } from '../../platform/http/exchange.ts'
import { readQuery } from '../../platform/query/query-string.ts'
import type {
  Answer,
  BaseRequest,
  Route,
  AccountRoute as ServedAccountRoute,
  Services,
} from '../../platform/http/route.ts'
import {
  authenticate,
  bodyOf,
  checkReadConditions,
  clientOf,
  paramsOf,
  unheeded,
} from '../../platform/http/serve-parts.ts'

/** A person and the session in which they ask; uuids. */
export interface Person {
  userId: string
  sessionId: string
}

export interface AccountRequest<Body = JsonObject> extends BaseRequest {
  person: Person
  /** A transaction, in which the session was found alive. */
  db: Spanning
  body: Body
}

/** The same for work that takes long before it writes: no connection waits for it meanwhile. */
export interface AccountWork<Body = JsonObject> extends Omit<AccountRequest<Body>, 'db'> {
  /** Runs in a transaction, in which the session was found alive. */
  transact<Result>(work: (db: Spanning) => Promise<Result>): Promise<Result>
}

/** A route about the caller's own account, as its part declares it; `served` makes it one of the API's. */
export type AccountRoute<Body = JsonObject> = Omit<ServedAccountRoute, 'serve' | 'body'> & {
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
} & (
    | { handle(request: AccountRequest<Body>): Promise<Answer> }
    | { outside(request: AccountWork<Body>): Promise<Answer> }
  )

/** A route whose handler gets the body in the types of the fields that its shape declares. */
export const accountRoute = <Body>(route: AccountRoute<Body>): AccountRoute => route as AccountRoute<never>

export const served = (route: AccountRoute): Route => ({
  ...route,
  serve: (services, request, reply, progress) => serveAccount(route, services, request, reply, progress),
})

/** Answers a request about the caller's own account: credential, limit, query and body, then the work. */
async function serveAccount(
  route: AccountRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Answer> {
  const credential = await authenticate(services, request, reply, progress)
  progress.credential = showId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  await charge(services, reply, progress, route.method === 'GET' ? 'read' : 'write', credential.id)
  const person = await personOf(services, request, credential)
  const url = targetOf(request)
  const query = readQuery(url)
  readNone(query)
  checkConditions(route, request)
  const params = paramsOf(route, request)
  const { body } = route.method === 'GET' ? { body: {} } : await bodyOf(route, request)
  const transact: AccountWork['transact'] = (work) =>
    services.database.spanningTransaction('manage an account', work, accountLive(person)).catch((error: unknown) => {
      throw error instanceof CredentialChanged ? invalidToken() : error
    })
  const asked = { services, client: clientOf(request), person, params, query, body, url }
  const assertProved = async (db: Spanning) => {
    if (route.fresh && !(await isFresh(db, person.sessionId))) throw proofRequired()
  }
  if ('outside' in route) {
    await transact(assertProved)
    return route.outside({ ...asked, transact })
  }
  return transact(async (db) => {
    await assertProved(db)
    return route.handle({ ...asked, db })
  })
}

/** A key stands for no person. An organization that is named has to be one of theirs, although nothing here is about it. */
async function personOf(services: Services, request: FastifyRequest, credential: Credential): Promise<Person> {
  const organization = single(request, 'service-organization-id')
  if (credential.kind === 'key') {
    await services.identifier.selectOrganization(credential, organization)
    throw insufficientKind()
  }
  if (organization !== undefined) await services.identifier.selectOrganization(credential, organization)
  return { userId: credential.userId, sessionId: credential.id }
}

/** What other requests heed and these do not is refused, never ignored. */
function checkConditions(route: AccountRoute, request: FastifyRequest): void {
  if (route.method === 'GET') return checkReadConditions(request)
  for (const name of ['If-Match', 'If-None-Match', 'If-Unmodified-Since', 'Idempotency-Key']) {
    if (single(request, name.toLowerCase()) !== undefined) throw unheeded(name)
  }
}
