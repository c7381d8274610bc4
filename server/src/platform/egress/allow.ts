import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { classifyAddress } from './addresses.ts'

/** An item of EGRESS_ALLOW: an internal host, by its name or its address, or a network of them. */
export type AllowedHost =
  | { kind: 'name'; name: string; port: number | undefined }
  | { kind: 'network'; network: string; port: number | undefined }

/** Names of the machines that tell a cloud's secrets; their addresses are refused too. */
const metadataNames = new Set(['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data'])

const expectedForms =
  'expected a host name, an address or a network, such as id.internal, 10.0.0.5:8443, [fd00::5] or 10.0.0.0/8'

/** Reads one item of EGRESS_ALLOW. Throws an error whose message completes "EGRESS_ALLOW …". */
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
  // An address in another form, such as 0x7f.1, is not what an operator would look for here.
  if (isIP(name) !== 0) throw new Error(expectedForms)
  if (isMetadataName(name)) throw new Error(`must not include ${name}; the service never connects to it`)
  return { kind: 'name', name, port }
}

/** Is this a name of a cloud's metadata? */
export const isMetadataName = (name: string): boolean => metadataNames.has(name)

/** A host name without the dot that may stand at its end. */
export const withoutTrailingDot = (hostname: string): string => hostname.replace(/\.$/, '')

/** Does EGRESS_ALLOW name this host and port? */
export const allowsName = (allowed: readonly AllowedHost[], name: string, port: number): boolean =>
  allowed.some((entry) => entry.kind === 'name' && entry.name === name && (entry.port ?? port) === port)

/** Does EGRESS_ALLOW name this address and port, by itself or by its network? */
export function allowsAddress(allowed: readonly AllowedHost[], address: string, port: number): boolean {
  const parsed = ipaddr.parse(address)
  return allowed.some((entry) => {
    if (entry.kind !== 'network' || (entry.port ?? port) !== port) return false
    const [start, bits] = ipaddr.parseCIDR(entry.network)
    return start.kind() === parsed.kind() && parsed.match(start, bits)
  })
}

function splitHostPort(text: string): { host: string; port: number | undefined } {
  if (isIP(text) !== 0) return { host: text, port: undefined }
  const [, bracketed, named, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text.toLowerCase()) ?? []
  const host = bracketed ?? named ?? ''
  const port = digits === undefined ? undefined : Number(digits)
  const isPort = port === undefined || (port >= 1 && port <= 65_535)
  // Brackets hold an IPv6 address and nothing else.
  if (host === '' || !isPort || (bracketed !== undefined && isIP(bracketed) !== 6)) {
    // A network of IPv6 has colons and no brackets.
    if (ipaddr.isValidCIDR(text)) return { host: text, port: undefined }
    throw new Error(expectedForms)
  }
  return { host, port }
}
