import { ApiError } from '../model/errors.ts'
import type { Client, Services } from './route.ts'

/** Seconds that a browser keeps them: a session lives 90 days at most, a device is known for a year, a log-in elsewhere is short. */
const lifetimes = { refresh: 90 * 24 * 60 * 60, device: 365 * 24 * 60 * 60, 'single-sign-on': 600 }
export type CookieName = keyof typeof lifetimes

const names: Record<CookieName, string> = {
  refresh: 'rapport',
  device: 'rapport-device',
  'single-sign-on': 'rapport-sso',
}

/** The origin that this caller logs in at: the one that is set, else the host that they named. */
export const pageOrigin = ({ pageOrigin: configuredOrigin }: Services, { requestOrigin: ownOrigin }: Client): string =>
  configuredOrigin ?? ownOrigin

/**
 * Refuses what another site's page sends with the browser's cookies. Error: 403. A browser names the page's origin on each
 * POST (Fetch standard, section 3.2); who names none is no page of ours.
 */
export function assertSameOrigin(services: Services, client: Client): void {
  const ownOrigins = [pageOrigin(services, client), new URL(services.origin).origin]
  if (client.origin !== undefined && ownOrigins.includes(client.origin)) return
  throw new ApiError('insufficient_permissions', 'Cookies are accepted only from this service’s own pages (Origin).')
}

/**
 * The value of `Set-Cookie`: for this host alone, out of the reach of scripts, on no request that begins elsewhere. Without
 * https browsers keep no `__Host-` cookie; on the machine itself a plain one does. Error: 403, plain http from elsewhere.
 */
export function createCookie(services: Services, client: Client, name: CookieName, value: string): string {
  return serializeCookie(services, client, name, value, lifetimes[name])
}

/** Takes the cookie away. */
export const clearCookie = (services: Services, client: Client, name: CookieName): string =>
  serializeCookie(services, client, name, '', 0)

/**
 * Sent when a session has ended: the browser drops what it has stored of this origin. Not `cookies`, which would take
 * those of other hosts of the domain too, and the one that tells this device from a stranger's.
 */
export const clearSiteData = { 'clear-site-data': '"cache", "storage"' } as const

/** What the browser sent as this cookie. */
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
  // A provider sends the browser back: a strict cookie would stay behind.
  const site = name === 'single-sign-on' ? 'Lax' : 'Strict'
  return `${prefixedName(origin, name)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure}`
}

const prefixedName = (origin: string, name: CookieName): string => `${isSecure(origin) ? '__Host-' : ''}${names[name]}`

const isSecure = (origin: string): boolean => origin.startsWith('https://')

const isLocal = (origin: string): boolean => /^http:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/.test(origin)
