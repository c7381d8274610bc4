import { lockAccount } from '../access/account-store.ts'
import { beginPendingLogin } from '../access/login-store.ts'
import { completeLogin } from '../access/logins.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { endCookie, pageOrigin, readCookie } from '../../platform/http/cookies.ts'
import type { Answer, PublicRequest } from '../../platform/http/route.ts'
import { showId } from '../../platform/model/ids.ts'
import { admit, Raced } from './admit.ts'
import { findConnection, keepStep, type KeptConnection, spendStep, type Step } from './flow-store.ts'
import { flowOf, isSameBrowser, logFailure, makeText, opened, type SsoError, toError, toPage, valueOf } from './flow.ts'
import { type Claims, claimsOf, isDenial } from './provider.ts'

/** The browser is back from the provider. What it began is over with this request, whatever comes of it. */
export async function callback(request: PublicRequest): Promise<Answer> {
  const { services, client } = request
  const answer = await answerOf(request)
  const ended = endCookie(services, client, 'single-sign-on')
  return { ...answer, cookies: [ended, ...(answer.cookies ?? [])] }
}

async function answerOf(request: PublicRequest): Promise<Answer> {
  const { services, client, params, query, url } = request
  const connectionId = params.connectionId ?? ''
  const state = valueOf(query, 'state') ?? ''
  const browser = readCookie(services, client, 'single-sign-on')
  const { step, connection } = await services.database.spanningTransaction('log in', async (db) => ({
    step: await spendStep(db, { kind: 'flow', text: state, connectionId }),
    connection: await findConnection(db, connectionId),
  }))
  if (!step || !isSameBrowser(step.browserHash, browser)) return toError(request, 'expired')
  if (!connection) return toError(request, 'unavailable')
  let claims: Claims
  try {
    const flow = flowOf(request, { connectionId, state, browser })
    const search = url.includes('?') ? url.slice(url.indexOf('?')) : ''
    claims = await claimsOf(services.egress, opened(services, connection), { flow, search })
  } catch (error) {
    if (isDenial(error)) return toError(request, 'denied')
    logFailure(request, connection, error)
    return toError(request, 'provider')
  }
  if (step.userId !== null) return proveIdentity(request, connection, { userId: step.userId, claims })
  return logIn(request, connection, { step, claims }).catch((error: unknown) => {
    // The same person, twice at once for the first time: now the other one's account is there.
    if (error instanceof Raced) return logIn(request, connection, { step, claims })
    throw error
  })
}

/** Whoever began to link has to be who ends it: the page asks for that as the person who is logged in there. */
async function proveIdentity(
  request: PublicRequest,
  { id, organizationId }: KeptConnection,
  { userId, claims }: { userId: string; claims: Claims },
): Promise<Answer> {
  const token = makeText()
  const { issuer, subject, email } = claims
  const step = { organizationId, connectionId: id, userId, issuer, subject, email }
  await request.services.database.spanningTransaction('log in', (db) => keepStep(db, 'proof', token, step))
  return toPage(request, `sso-link=${token}`)
}

function logIn(
  request: PublicRequest,
  connection: KeptConnection,
  { step, claims }: { step: Required<Step>; claims: Claims },
): Promise<Answer> {
  const { services, client } = request
  return services.database.spanningTransaction('log in', async (db) => {
    const verdict = await admit(request, db, { connection, claims })
    if ('refusal' in verdict) return refused(request, db, connection, verdict.refusal)
    const { userId } = verdict
    const account = await lockAccount(db, userId)
    if (!account) return refused(request, db, connection, 'not-linked')
    if (account.factors.length > 0) {
      // The provider stands for the password alone.
      const token = await beginPendingLogin(db, { userId, wantsCookie: true })
      return toPage(request, `second-factor=${token}`)
    }
    const { cookies } = await completeLogin(request, db, {
      userId,
      email: account.email,
      organizationId: connection.organizationId,
      wantsCookie: true,
      isStrong: false,
      isNavigation: true,
      by: 'single-sign-on',
    })
    const there = step.returnTo === null ? toPage(request, 'logged-in') : undefined
    const location = there?.headers?.location ?? `${pageOrigin(services, client)}${step.returnTo}`
    return { status: 303, headers: { location }, ...(cookies && { cookies }) }
  })
}

async function refused(
  request: PublicRequest,
  db: Spanning,
  { id, organizationId }: KeptConnection,
  reason: SsoError,
): Promise<Answer> {
  const { client } = request
  await recordEvent(db, {
    organizationId,
    action: 'login.failed',
    actorKind: 'anonymous',
    actorId: null,
    recordType: 'sso-connection',
    recordId: showId('sso', id),
    address: client.address,
    requestId: client.requestId,
    details: { by: 'single-sign-on', reason },
  })
  return toError(request, reason)
}
