import { lockAccount } from '../access/account-store.ts'
import { beginPendingLogin } from '../access/login-store.ts'
import { completeLogin } from '../access/logins.ts'
import { insertPendingEvents } from '../audit-log/store.ts'
import type { PersonEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { clearCookie, pageOrigin, parseCookie } from '../../platform/http/protocol/cookies.ts'
import type { RouteResponse, PublicRequest } from '../../platform/http/route.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { resolveLogin, LoginConflict } from './resolve-login.ts'
import { findConnection, storeStep, type StoredConnection, consumeStep, type Step } from './flow-store.ts'
import {
  createFlow,
  isSameBrowser,
  logFailure,
  generateToken,
  withClientSecret,
  type SsoError,
  redirectToError,
  redirectToPage,
  queryValue,
} from './flow.ts'
import { type Claims, fetchClaims, isDenial } from './provider.ts'

/** Handles the browser's return from the provider. The flow ends with this request, whatever its result. */
export async function handleCallback(request: PublicRequest): Promise<RouteResponse> {
  const { services, client } = request
  const response = await processCallback(request)
  const endedCookie = clearCookie(services, client, 'single-sign-on')
  return { ...response, cookies: [endedCookie, ...(response.cookies ?? [])] }
}

async function processCallback(request: PublicRequest): Promise<RouteResponse> {
  const { services, client, params, query, url } = request
  const connectionId = params.connectionId ?? ''
  const state = queryValue(query, 'state') ?? ''
  const browser = parseCookie(services, client, 'single-sign-on')
  const { step, connection } = await services.database.crossTenantTransaction('log in', async (db) => ({
    step: await consumeStep(db, { kind: 'flow', text: state, connectionId }),
    connection: await findConnection(db, connectionId),
  }))
  if (!step || !isSameBrowser(step.browserHash, browser)) return redirectToError(request, 'expired')
  if (!connection) return redirectToError(request, 'unavailable')
  let claims: Claims
  try {
    const flow = createFlow(request, { connectionId, state, browser })
    const search = url.includes('?') ? url.slice(url.indexOf('?')) : ''
    claims = await fetchClaims(services.egress, withClientSecret(services, connection), { flow, search })
  } catch (error) {
    if (isDenial(error)) return redirectToError(request, 'denied')
    logFailure(request, connection, error)
    return redirectToError(request, 'provider')
  }
  if (step.userId !== null) return redirectToConfirmation(request, connection, { userId: step.userId, claims })
  return logIn(request, connection, { step, claims }).catch((error: unknown) => {
    // The same person logs in for the first time twice at once: the other request has now created the account.
    if (error instanceof LoginConflict) return logIn(request, connection, { step, claims })
    throw error
  })
}

/** The person who started linking must also confirm it: the page does so with the session of its browser. */
async function redirectToConfirmation(
  request: PublicRequest,
  { id, organizationId }: StoredConnection,
  { userId, claims }: { userId: string; claims: Claims },
): Promise<RouteResponse> {
  const token = generateToken()
  const { issuer, subject, email } = claims
  const step = { organizationId, connectionId: id, userId, issuer, subject, email }
  await request.services.database.crossTenantTransaction('log in', (db) => storeStep(db, 'proof', token, step))
  return redirectToPage(request, `sso-link=${token}`)
}

function logIn(
  request: PublicRequest,
  connection: StoredConnection,
  { step, claims }: { step: Required<Step>; claims: Claims },
): Promise<RouteResponse> {
  const { services, client } = request
  return services.database.crossTenantTransaction('log in', async (db) => {
    const decision = await resolveLogin(request, db, { connection, claims })
    if ('refusal' in decision) return reject(request, db, connection, decision.refusal)
    const { userId } = decision
    const account = await lockAccount(db, userId)
    if (!account) return reject(request, db, connection, 'not-linked')
    if (account.factors.length > 0) {
      // The provider replaces only the password.
      const token = await beginPendingLogin(db, { userId, wantsCookie: true })
      return redirectToPage(request, `second-factor=${token}`)
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
    const accountPage = step.returnTo === null ? redirectToPage(request, 'logged-in') : undefined
    const location = accountPage?.headers?.location ?? `${pageOrigin(services, client)}${step.returnTo}`
    return { status: 303, headers: { location }, ...(cookies && { cookies }) }
  })
}

async function reject(
  request: PublicRequest,
  db: CrossTenantConnection,
  { id, organizationId }: StoredConnection,
  reason: SsoError,
): Promise<RouteResponse> {
  const { client } = request
  const event: PersonEvent = {
    action: 'login.failed',
    actorKind: 'anonymous',
    actorId: null,
    recordType: 'sso-connection',
    recordId: encodeId('sso', id),
    address: client.address,
    requestId: client.requestId,
    details: { by: 'single-sign-on', reason },
  }
  await db.query(insertPendingEvents([organizationId], event))
  return redirectToError(request, reason)
}
