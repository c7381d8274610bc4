import { isSaving, setDraftOrganization } from '../preferences/drafts.ts'
import { claimStorage, keepPreferences } from '../preferences/storage.ts'
import { reach, untilAnswered } from './connection.ts'
import { ApiError } from './error.ts'
import { hasEnded, logInAgain, settleEnd } from './session-end.ts'

// The refresh token is in a cookie that scripts cannot read; the access token is only in this page's memory.

/** The API's origin, if it differs from this page's (AUTH_ORIGIN). */
export const apiOrigin = document.querySelector<HTMLMetaElement>('meta[name=rapport-api]')?.content ?? location.origin

/** Seconds before its expiry at which an access token is replaced. */
const margin = 60

let token: string | undefined
let renewal: Promise<string | undefined> | undefined

/** Why the page ends: the person logged out, the session may have been hijacked, or somebody else has logged in. */
export type EndReason = 'logged-out' | 'taken-over' | 'someone-else'
let onLost: (reason: EndReason) => void = () => undefined

/** The person and the organization whose data this page shows. */
export interface SessionScope {
  userId: string
  organizationId: string | undefined
}

// Another tab may switch the session's organization or log in somebody else. This page stays with the person and the
// organization of its first access token.
let place: SessionScope | undefined

/** Undefined before a log-in and after a log-out. */
export const sessionScope = (): SessionScope | undefined => place

/** The body of a successful log-in response. */
export interface Tokens {
  accessToken: string
}

/** Uses this access token from now on, after a log-in. */
export function beginSession(tokens: Tokens): void {
  forgetAccessToken()
  adopt(tokens)
}

/**
 * Uses this access token from now on, for the same person and organization, and resumes waiting requests. Returns false
 * if it belongs to someone else.
 */
export function continueSession(tokens: Tokens): boolean {
  const isSame = adopt(tokens)
  settleEnd(isSame)
  return isSame
}

/** Forgets the access token, the person and the organization, after a log-out or before a switch of organization. */
export function forgetAccessToken(): void {
  token = undefined
  place = undefined
  settleEnd(false)
  for (const leave of leavers) leave()
}

const leavers = new Set<() => void>()

/** Registers a callback for when the page has left the person or the organization that it showed. */
export function whenSessionIsLeft(leave: () => void): void {
  leavers.add(leave)
}

/** After a log-out, other tabs must not show anything of the person either. */
export function endSession(): void {
  forgetAccessToken()
  tabs.postMessage(undefined)
}

/** The person of this browser's session, if any; each tab reports it to the others. */
const tabs = new BroadcastChannel('rapport.session')
tabs.onmessage = ({ data: userId }: MessageEvent<string | undefined>) => {
  if (place === undefined) return
  if (place.userId === userId) return hasEnded() ? settleEnd(true) : undefined
  endPage(userId === undefined ? 'logged-out' : 'someone-else')
}

/** Nothing of the person may stay on this page. */
export function endPage(reason: EndReason): void {
  forgetAccessToken()
  onLost(reason)
}

function adopt({ accessToken: next }: Tokens): boolean {
  const { sub, org } = claimsOf(next)
  if (place === undefined || hasEnded()) tabs.postMessage(sub)
  if (place === undefined) {
    claimStorage(sub)
    setDraftOrganization(org)
  }
  place ??= { userId: sub, organizationId: org }
  token = place.userId === sub ? next : undefined
  return token !== undefined
}

/** Registers a callback for when nothing of the person may stay on the page. */
export function whenPageEnds(handler: (reason: EndReason) => void): void {
  onLost = handler
}

/** Does the page belong to somebody? If their session has ended, requests wait for them to log in again. */
export const isLoggedIn = async (): Promise<boolean> => place !== undefined || (await accessToken()) !== undefined

/** An access token that is valid for a while; undefined if nobody is logged in. */
export async function accessToken(): Promise<string | undefined> {
  if (token !== undefined && secondsLeft(token) > margin) return token
  // Concurrent requests share one renewal: a refresh token can be used once.
  renewal ??= withSessionLock(() => keepPreferences(renew)).finally(() => (renewal = undefined))
  return renewal
}

/** Renews the session's cookie in one tab at a time: its refresh token can be used once. */
export async function withSessionLock<T>(replace: () => Promise<T>): Promise<T> {
  // On plain HTTP, browsers have no locks; the service sets no cookies there either.
  return isSecureContext ? navigator.locks.request('rapport.session', replace) : replace()
}

async function renew(): Promise<string | undefined> {
  const response = await reach(() =>
    fetch('/auth/refresh', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
      // The other tabs wait for this one.
      signal: AbortSignal.timeout(20_000),
    }),
  )
  if (response.status === 401) {
    // An unread response would occupy its connection.
    await response.body?.cancel()
    token = undefined
    if (response.headers.get('www-authenticate')?.includes('used twice') === true && place !== undefined) {
      tabs.postMessage(undefined)
      endPage('taken-over')
    }
    return undefined
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined)
  if (!adopt(body as Tokens)) endPage('someone-else')
  return token
}

interface Claims {
  sub: string
  exp: number
  org?: string
}

function claimsOf(jwt: string): Claims {
  const [, payload = ''] = jwt.split('.')
  return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as Claims
}

const secondsLeft = (jwt: string): number => claimsOf(jwt).exp - Date.now() / 1000

/** Sends a request with the access token; retries while there is no response, if a repetition is safe. */
export function authorizedFetch(request: Request): Promise<Response> {
  const isRead = request.method === 'GET' || new URL(request.url).pathname.includes('/search')
  const isRepeatable = isRead || request.headers.has('if-match') || request.headers.has('idempotency-key')
  const attempt = () => fetchInSession(request)
  return isRepeatable ? untilAnswered(attempt, { signal: request.signal, isRead }) : attempt()
}

/**
 * Sends a request to the organization that this page shows. Replaces a refused token once, because the session may have
 * been renewed or changed in another tab. If the session has ended, waits until the person has logged in again. Never
 * repeats a request in another organization.
 */
async function fetchInSession(request: Request): Promise<Response> {
  const isAction = !isByItself(request) || isSaving()
  await hasSession(isAction)
  const begun = place
  const sendOnce = () => reach(() => fetch(withCredential(request.clone())))
  const isRefused = ({ status }: Response) => status === 401 && place === begun && begun !== undefined
  const first = await sendOnce()
  if (!isRefused(first)) return first
  token = undefined
  if (!(await hasSession(isAction)) || place !== begun) return first
  const second = await sendOnce()
  if (!isRefused(second)) return second
  token = undefined
  return (await hasLoggedInAgain(isAction)) && place === begun ? sendOnce() : second
}

/** Requests that a page also sends by itself: reads, also those with a body, and which records are open in it. */
const isByItself = ({ method, url }: Request): boolean =>
  method === 'GET' || /\/search\b|\/presence$/.test(new URL(url).pathname)

/** Is there an access token? If this page's session has ended, asks the person to log in again. */
async function hasSession(isAction: boolean): Promise<boolean> {
  if (hasEnded()) return hasLoggedInAgain(isAction)
  if ((await accessToken()) !== undefined) return true
  return place !== undefined && hasLoggedInAgain(isAction)
}

const hasLoggedInAgain = async (isAction: boolean): Promise<boolean> =>
  (await logInAgain(isAction)) && (await accessToken()) !== undefined

function withCredential(request: Request): Request {
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
  // Account requests belong to no organization, and must work after the person has left it.
  const isOwnAccount = request.url.startsWith(`${apiOrigin}/v5/me/`)
  if (place?.organizationId !== undefined && !isOwnAccount)
    request.headers.set('service-organization-id', place.organizationId)
  return request
}
