import type { FastifyReply, FastifyRequest } from 'fastify'
import { accountLive, isFresh } from '../access/account-store.ts'
import type { Credential } from '../access/identify.ts'
import { insufficientKind, invalidToken, proofRequired } from '../access/refusals.ts'
import type { Spanning } from '../database/database.ts'
import { CredentialChanged } from '../database/failures.ts'
import { readNone } from '../query/parse.ts'
import { showId } from '../resource/ids.ts'
import { charge, type Progress, single, targetOf } from './exchange.ts'
import { readQuery } from './query-string.ts'
import type { AccountRoute, AccountWork, Answer, Person, Services } from './route.ts'
import { authenticate, bodyOf, checkReadConditions, clientOf, paramsOf, unheeded } from './serve-parts.ts'

/** Answers a request about the caller's own account: credential, limit, query and body, then the work. */
export async function serveAccount(
  route: AccountRoute,
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  progress: Progress,
): Promise<Answer> {
  const credential = await authenticate(services, request, reply, progress)
  progress.credential = showId(credential.kind === 'key' ? 'key' : 'session', credential.id)
  charge(services, reply, progress, route.method === 'GET' ? 'read' : 'write', credential.id)
  const person = await personOf(services, request, credential)
  const url = targetOf(request)
  const query = readQuery(url)
  readNone(query)
  checkConditions(route, request)
  const params = paramsOf(route, request)
  const { body } = route.method === 'GET' ? { body: {} } : await bodyOf(route, request, progress)
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
