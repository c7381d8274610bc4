import { ApiError } from '../model/errors.ts'
import type { Client, Services } from './route.ts'

/**
 * Cookie lifetimes in seconds: a session lives at most 90 days, a device is remembered for a year, a single sign-on is
 * short.
 */
const lifetimes = { refresh: 90 * 24 * 60 * 60, device: 365 * 24 * 60 * 60, 'single-sign-on': 600 }
export type CookieName = keyof typeof lifetimes

const names: Record<CookieName, string> = {
  refresh: 'rapport',
  device: 'rapport-device',
  'single-sign-on': 'rapport-sso',
}

/** The origin where this caller logs in: the configured one, otherwise the requested host. */
export const pageOrigin = ({ pageOrigin: configuredOrigin }: Services, { requestOrigin }: Client): string =>
  configuredOrigin ?? requestOrigin

/**
 * Rejects requests that another site's page sends with the browser's cookies (403). Browsers send the page's Origin
 * with every POST (Fetch standard, section 3.2), so a request without it is not from our page.
 */
export function assertSameOrigin(services: Services, client: Client): void {
  const ownOrigins = [pageOrigin(services, client), new URL(services.origin).origin]
  if (client.origin !== undefined && ownOrigins.includes(client.origin)) return
  throw new ApiError('insufficient_permissions', 'Cookies are accepted only from this service’s own pages (Origin).')
}

/**
 * The `Set-Cookie` value: for this host only, not readable by scripts, and not sent with cross-site requests. Browsers
 * keep `__Host-` cookies only with https; on localhost a plain cookie works. Throws 403 for plain http from elsewhere.
 */
export function createCookie(services: Services, client: Client, name: CookieName, value: string): string {
  return serializeCookie(services, client, name, value, lifetimes[name])
}

/** The `Set-Cookie` value that deletes the cookie. */
export const clearCookie = (services: Services, client: Client, name: CookieName): string =>
  serializeCookie(services, client, name, '', 0)

/**
 * Sent when a session ends: the browser deletes what it stored for this origin. Not `cookies`: that would also delete
 * the cookies of the domain's other hosts, and the one that recognizes this device.
 */
export const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const

/** The cookie's value in the request. */
export const readCookie = (services: Services, client: Client, name: CookieName): string | undefined =>
  client.cookie(prefixedName(pageOrigin(services, client), name)) || undefined

function serializeCookie(services: Services, client: Client, name: CookieName, value: string, seconds: number): string {
  const origin = pageOrigin(services, client)
  if (!isSecure(origin) && !isLocal(origin)) {
    throw new ApiError(
      'insufficient_permissions',
      'The session cookie requires https: set PUBLIC_URL to an https address, or use http://localhost.',
    )
  }
  const secure = isSecure(origin) ? '; Secure' : ''
  // The identity provider redirects the browser here, and a strict cookie would not be sent.
  const site = name === 'single-sign-on' ? 'Lax' : 'Strict'
  return `${prefixedName(origin, name)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure}`
}

const prefixedName = (origin: string, name: CookieName): string => `${isSecure(origin) ? '__Host-' : ''}${names[name]}`

const isSecure = (origin: string): boolean => origin.startsWith('https://')

const isLocal = (origin: string): boolean => /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/.test(origin)
