import { isIP, isIPv4 } from 'node:net'
import { type AllowedHost, allowsAddress, allowsName, withoutTrailingDot } from './allow.ts'

/** Is the other end on this machine, so that nobody is in between? */
export const isLoopback = (host: string): boolean =>
  (isIPv4(host) && host.startsWith('127.')) || host === '::1' || /^(?:.+\.)?localhost$/i.test(host)

/** May this host be connected to without TLS: because it is this machine, or because PLAINTEXT_HOSTS names it? */
export function allowsPlaintext(
  allowed: readonly AllowedHost[],
  { host, port }: { host: string; port: number },
): boolean {
  if (isLoopback(host)) return true
  return isIP(host) === 0
    ? allowsName(allowed, withoutTrailingDot(host.toLowerCase()), port)
    : allowsAddress(allowed, host, port)
}
