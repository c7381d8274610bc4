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

/** What a log-in answers if it succeeded. */
export interface Tokens {
  accessToken: string
}

/** Uses this access token from now on: after a log-in. */
export function beginSession(tokens: Tokens): void {
  token = tokens.accessToken
}

/** Forgets the access token: after a log-out, or to get one with other rights. */
export function forgetAccessToken(): void {
  token = undefined
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
  token = (body as Tokens).accessToken
  return token
}

function secondsLeft(jwt: string): number {
  const [, payload = ''] = jwt.split('.')
  const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { exp: number }
  return exp - Date.now() / 1000
}

/**
 * Sends a request with the access token. A token that was refused is replaced once: the session may have been renewed
 * or changed in another tab.
 */
export async function authorizedFetch(request: Request): Promise<Response> {
  const again = request.clone()
  const response = await withToken(request)
  if (response.status !== 401) return response
  forgetAccessToken()
  const second = await withToken(again)
  if (second.status === 401) onLost()
  return second
}

async function withToken(request: Request): Promise<Response> {
  const current = await accessToken()
  if (current !== undefined) request.headers.set('authorization', `Bearer ${current}`)
  return fetch(request)
}
