import { ApiError } from '../../model/errors.ts'
import type { Client, Services } from '../route.ts'

/** In seconds: a session lasts at most 90 days, a device is recognized for a year, a login flow takes ten minutes. */
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

/** Rejects requests of another site's page (403). Browsers send Origin with every POST (Fetch, section 3.2). */
export function assertSameOrigin(services: Services, client: Client): void {
  const ownOrigins = [pageOrigin(services, client), new URL(services.origin).origin]
  if (client.origin !== undefined && ownOrigins.includes(client.origin)) return
  throw new ApiError('insufficient_permissions', 'Cookies are accepted only from this service’s own pages (Origin).')
}

/**
 * A `Set-Cookie` value: this host only, not readable by scripts, not cross-site. Browsers store `__Host-` cookies only
 * with https; on localhost a plain one works. Throws 403 for plain http from elsewhere.
 */
export function createCookie(services: Services, client: Client, name: CookieName, value: string): string {
  return serializeCookie(services, client, name, value, lifetimes[name])
}

/** The `Set-Cookie` value that deletes the cookie. */
export const clearCookie = (services: Services, client: Client, name: CookieName): string =>
  serializeCookie(services, client, name, '', 0)

/** Deletes what the browser stored for this origin. Not `cookies`, which covers other hosts and device recognition. */
export const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const

export const parseCookie = (services: Services, client: Client, name: CookieName): string | undefined =>
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
