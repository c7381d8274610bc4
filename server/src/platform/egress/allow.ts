import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { classifyAddress } from './addresses.ts'

/** An entry of EGRESS_ALLOW: an internal host by name or address, or a network. */
export type AllowedHost =
  | { kind: 'name'; name: string; port: number | undefined }
  | { kind: 'network'; network: string; port: number | undefined }

/** Host names of cloud metadata services; their addresses are rejected too. */
const metadataNames = new Set(['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data'])

const expectedForms =
  'expected a host name, an address or a network, such as id.internal, 10.0.0.5:8443, [fd00::5] or 10.0.0.0/8'

/** Parses one entry of EGRESS_ALLOW. The error message completes "EGRESS_ALLOW …". */
export function parseAllowedHost(text: string): AllowedHost {
  const { host, port } = splitHostPort(text)
  if (isIP(host) !== 0) {
    if (classifyAddress(host) === 'never') throw new Error(`must not include ${host}; the service never connects to it`)
    return { kind: 'network', network: `${host}/${isIP(host) === 6 ? 128 : 32}`, port }
  }
  if (host.includes('/')) {
    if (port !== undefined || isIP(host.split('/')[0] ?? '') === 0 || !ipaddr.isValidCIDR(host))
      throw new Error(expectedForms)
    return { kind: 'network', network: host, port }
  }
  const url = `http://${host}`
  if (!/^[^\s/?#@:*]+$/.test(host) || !URL.canParse(url)) throw new Error(expectedForms)
  const name = withoutTrailingDot(new URL(url).hostname)
  // An operator would not expect an address in another form here, such as 0x7f.1.
  if (isIP(name) !== 0) throw new Error(expectedForms)
  if (isMetadataName(name)) throw new Error(`must not include ${name}; the service never connects to it`)
  return { kind: 'name', name, port }
}

export const isMetadataName = (name: string): boolean => metadataNames.has(name)

/** The host name without a trailing dot. */
export const withoutTrailingDot = (hostname: string): string => hostname.replace(/\.$/, '')

export const allowsName = (allowed: readonly AllowedHost[], name: string, port: number): boolean =>
  allowed.some((entry) => entry.kind === 'name' && entry.name === name && (entry.port ?? port) === port)

/** Does EGRESS_ALLOW contain this address and port, directly or by its network? */
export function allowsAddress(allowed: readonly AllowedHost[], address: string, port: number): boolean {
  const parsed = ipaddr.parse(address)
  return allowed.some((entry) => {
    if (entry.kind !== 'network' || (entry.port ?? port) !== port) return false
    const [start, bits] = rangeOf(entry.network)
    return start.kind() === parsed.kind() && parsed.match(start, bits)
  })
}

type Range = ReturnType<typeof ipaddr.parseCIDR>

/** The parsed networks of the settings: each request would parse them again. */
const ranges = new Map<string, Range>()

function rangeOf(network: string): Range {
  const known = ranges.get(network)
  if (known) return known
  const range = ipaddr.parseCIDR(network)
  ranges.set(network, range)
  return range
}

function splitHostPort(text: string): { host: string; port: number | undefined } {
  if (isIP(text) !== 0) return { host: text, port: undefined }
  const [, bracketed, named, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  const host = bracketed ?? named ?? ''
  const port = digits === undefined ? undefined : Number(digits)
  const isPort = port === undefined || (port >= 1 && port <= 65_535)
  // Brackets are only valid around an IPv6 address.
  if (host === '' || !isPort || (bracketed !== undefined && isIP(bracketed) !== 6)) {
    // An IPv6 network has colons but no brackets.
    if (ipaddr.isValidCIDR(text)) return { host: text, port: undefined }
    throw new Error(expectedForms)
  }
  return { host, port }
}
