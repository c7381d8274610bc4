import { isIP, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The canonical form of an address or network (RFC 4632, RFC 5952), or an error. */
export function parseIpNetwork(text: string): { network: string } | { error: string } {
  const [address = '', bits, ...rest] = text.trim().split('/')
  // Strict: `010` is 8 to some parsers and 10 to others, and a zone (`%eth0`) has no meaning here.
  const isAddress = isIP(address) !== 0 && !address.includes('%')
  const maxLength = isIPv6(address) ? 128 : 32
  const length = bits === undefined ? maxLength : Number(bits)
  if (!isAddress || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)) || length > maxLength) {
    return { error: 'expected an IP address such as 203.0.113.7, or a network such as 203.0.113.0/24 or 2001:db8::/32' }
  }
  if (length === 0) return { error: 'allows every address; leave the list empty instead' }
  const [first, prefix] = unmapAddress(ipaddr.parse(address), length)
  const start = first.toByteArray()
  if (start.some((byte, index) => (byte & (0xff >> Math.min(8, Math.max(0, prefix - 8 * index)))) !== 0)) {
    return {
      error: `has bits set after the first ${prefix}; expected ${formatAddress(networkOf(start, prefix))}/${prefix}`,
    }
  }
  return { network: prefix === 8 * start.length ? formatAddress(first) : `${formatAddress(first)}/${prefix}` }
}

type Address = ReturnType<typeof ipaddr.parse>

/** Converts an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2) to IPv4. */
function unmapAddress(address: Address, length: number): [Address, number] {
  if (address.kind() !== 'ipv6' || length < 96) return [address, length]
  const same = ipaddr.process(address.toString())
  return same.kind() === 'ipv4' ? [same, length - 96] : [address, length]
}

const formatAddress = (address: Address): string =>
  'toRFC5952String' in address ? address.toRFC5952String() : address.toString()

const networkOf = (bytes: readonly number[], prefix: number): Address =>
  ipaddr.fromByteArray(bytes.map((byte, index) => byte & ~(0xff >> Math.min(8, Math.max(0, prefix - 8 * index)))))

/**
 * Whether the address is in one of the networks, which `parseIpNetwork` has parsed. An empty list allows every address.
 */
export function isWithin(networks: readonly string[], address: string | undefined): boolean {
  if (networks.length === 0) return true
  if (address === undefined || isIP(address) === 0) return false
  const caller = ipaddr.process(address)
  return networks.some((network) => {
    const [start, prefix] = parseNetwork(network)
    return start.kind() === caller.kind() && caller.match(start, prefix)
  })
}

/** Whether each inner network is inside an outer one. An empty list stands for every address. */
export function areWithin(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true
  if (inner.length === 0) return false
  return inner.every((network) => {
    const [start, prefix] = parseNetwork(network)
    return outer.some((other) => {
      const [wide, bits] = parseNetwork(other)
      return wide.kind() === start.kind() && bits <= prefix && start.match(wide, bits)
    })
  })
}

function parseNetwork(network: string): [Address, number] {
  if (network.includes('/')) return ipaddr.parseCIDR(network)
  const address = ipaddr.parse(network)
  return [address, address.kind() === 'ipv6' ? 128 : 32]
}
