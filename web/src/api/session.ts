import { keepPreferences } from '../preferences/storage.ts'
import { ApiError } from './error.ts'

// The refresh token is in a cookie that scripts cannot read; the access token is only in this page's memory.

/** Where the API is, if it has an address other than this page's (AUTH_ORIGIN). */
export const apiOrigin = document.querySelector<HTMLMetaElement>('meta[name=rapport-api]')?.content ?? location.origin

/** Seconds before the end of an access token at which it is replaced. */
const margin = 60

let token: string | undefined
let renewal: Promise<string | undefined> | undefined
let onLost: () => void = () => undefined

/** Whose data this page shows, and of which organization. */
interface Place {
  userId: string
  organizationId: string | undefined
}

// Another tab may switch the session's organization or log somebody else in. This page keeps reading and writing where
// it began; the first access token says where that is.
let place: Place | undefined

/** What a log-in answers if it succeeded. */
export interface Tokens {
  accessToken: string
}

/** Uses this access token from now on: after a log-in. */
export function beginSession(tokens: Tokens): void {
  forgetAccessToken()
  adopt(tokens)
}

/** Uses this access token from now on, for the same person and organization. Returns false if it is someone else's. */
export function continueSession(tokens: Tokens): boolean {
  return adopt(tokens)
}

/** Forgets the access token, the person and the organization: after a log-out, or to begin in another organization. */
export function forgetAccessToken(): void {
  token = undefined
  place = undefined
}

/** The person has logged out: nothing of them stays on the screen of another tab. */
export function endSession(): void {
  forgetAccessToken()
  tabs.postMessage(undefined)
}

/** Who has this browser’s session now, if anybody: each tab reports it to the others. */
const tabs = new BroadcastChannel('rapport.session')
tabs.onmessage = ({ data: userId }: MessageEvent<string | undefined>) => {
  if (place === undefined || place.userId === userId) return
  forgetAccessToken()
  onLost()
}

function adopt({ accessToken: next }: Tokens): boolean {
  const { sub, org } = claimsOf(next)
  if (place === undefined) tabs.postMessage(sub)
  place ??= { userId: sub, organizationId: org }
  token = place.userId === sub ? next : undefined
  return token !== undefined
}

/** Called when the session has ended on the server; the person must log in again. */
export function whenSessionIsLost(handler: () => void): void {
  onLost = handler
}

/** An access token that is valid for some time; undefined if nobody is logged in. */
export async function accessToken(): Promise<string | undefined> {
  if (token !== undefined && secondsLeft(token) > margin) return token
  // Requests that start together share one renewal: a refresh token can be used once.
  renewal ??= withSessionLock(() => keepPreferences(renew)).finally(() => (renewal = undefined))
  return renewal
}

/** Replaces the session's cookie in one tab at a time: its refresh token can be used once. */
export async function withSessionLock<T>(replace: () => Promise<T>): Promise<T> {
  // On plain HTTP, browsers have no locks; the service gives no cookies there either.
  return isSecureContext ? navigator.locks.request('rapport.session', replace) : replace()
}

async function renew(): Promise<string | undefined> {
  const response = await fetch('/auth/refresh', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    // The other tabs wait for this one.
    signal: AbortSignal.timeout(20_000),
  })
  if (response.status === 401) {
    // Unread, the response would keep its connection.
    await response.body?.cancel()
    token = undefined
    return undefined
  }
  const body: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined)
  adopt(body as Tokens)
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

/**
 * Sends a request with the access token, to the organization that this page shows. A token that was refused is replaced
 * once: the session may have been renewed or changed in another tab. Nothing is sent again in another place.
 */
export async function authorizedFetch(request: Request): Promise<Response> {
  const again = request.clone()
  await accessToken()
  const begun = place
  const response = await fetch(withCredential(request))
  if (response.status !== 401) return response
  if (place === begun) token = undefined
  const current = await accessToken()
  if (place !== begun) return response
  const second = current === undefined ? response : await fetch(withCredential(again))
  if (second.status === 401 && place === begun) {
    forgetAccessToken()
    onLost()
  }
  return second
}

function withCredential(request: Request): Request {
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`)
  // A person's own account belongs to no organization; those requests must work after the person has left it.
  const isOwnAccount = request.url.startsWith(`${apiOrigin}/v5/me/`)
  if (place?.organizationId !== undefined && !isOwnAccount)
    request.headers.set('service-organization-id', place.organizationId)
  return request
}
