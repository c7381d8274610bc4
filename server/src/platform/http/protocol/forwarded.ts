import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Which proxies' forwarding headers are trusted: none, a number of hops from the connection, or these networks. */
export type TrustedProxies = false | number | readonly string[]

/** Is this proxy trusted? Hop 0 is the peer of the connection. */
export type Trust = (address: string | undefined, hop: number) => boolean

const namedNetworks: Record<string, readonly string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

export function createTrust(trusted: TrustedProxies): Trust {
  if (trusted === false) return () => false
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted
  const networks = new BlockList()
  for (const network of trusted.flatMap((item) => namedNetworks[item] ?? [item])) {
    const [start = '', prefix] = network.split('/')
    networks.addSubnet(start, Number(prefix ?? (isIPv6(start) ? 128 : 32)), familyOf(start))
  }
  return (text) => {
    const address = parseAddress(text ?? '')
    // A network of mapped addresses (`::ffff:10.0.0.0/104`) contains IPv4 addresses only in mapped form.
    return address !== undefined && [address, `::ffff:${address}`].some((form) => networks.check(form, familyOf(form)))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4')

/**
 * The caller's address: the first one, from the connection, that is not a trusted proxy's. An invalid entry counts as
 * the proxy that reported it, so that made-up entries do not give a caller new rate limits.
 */
export function callerAddress(request: IncomingMessage, trust: Trust): string {
  const { remoteAddress } = request.socket
  let nearest = parseAddress(remoteAddress ?? '') ?? 'unknown'
  const header = request.headers['x-forwarded-for']
  if (header === undefined || header.length === 0) return nearest
  const entries = String(header).split(',').reverse()
  let hop = 0
  for (const entry of entries) {
    // Empty list elements are ignored (RFC 9110 section 5.6.1.2).
    if (entry.trim() === '') continue
    if (!trust(nearest, hop)) break
    const address = parseAddress(entry)
    if (address === undefined) break
    nearest = address
    hop += 1
  }
  return nearest
}

const withPort = /^(?:\[([0-9a-f:.%a-z]+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d{1,5})?$/i

/** An address in canonical form (RFC 5952), without port, brackets and zone; mapped IPv4 becomes IPv4. */
export function parseAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const trimmed = text.trim()
  const [, bracketed, plain] = withPort.exec(trimmed) ?? []
  const bare = (bracketed ?? plain ?? trimmed).split('%', 1)[0] ?? ''
  if (isIPv4(bare)) return bracketed === undefined ? bare : undefined
  if (!isIPv6(bare)) return undefined
  const address = ipaddr.process(bare)
  return 'toRFC5952String' in address ? address.toRFC5952String() : address.toString()
}
