import { isIP, isIPv4 } from 'node:net'
import { type AllowedHost, allowsAddress, allowsName, withoutTrailingDot } from './allow.ts'

/** Is the host this machine, so that no network is involved? */
export const isLoopback = (host: string): boolean =>
  (isIPv4(host) && host.startsWith('127.')) || host === '::1' || /^(?:.+\.)?localhost$/i.test(host)

/** May this host be reached without TLS, because it is this machine or in PLAINTEXT_HOSTS? */
export function allowsPlaintext(
  allowed: readonly AllowedHost[],
  { host, port }: { host: string; port: number },
): boolean {
  if (isLoopback(host)) return true
  return isIP(host) === 0
    ? allowsName(allowed, withoutTrailingDot(host.toLowerCase()), port)
    : allowsAddress(allowed, host, port)
}
