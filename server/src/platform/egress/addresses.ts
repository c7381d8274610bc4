import ipaddr from 'ipaddr.js'

/** `internal` addresses may be connected to only if the operator allows it, `never` not even then. */
export type AddressClass = 'public' | 'internal' | 'never'

type Address = ReturnType<typeof ipaddr.parse>

/** Cloud metadata services (which serve credentials) outside the link-local range. */
const metadataAddresses: ReadonlySet<string> = new Set(
  [
    // Alibaba Cloud
    '100.100.100.200',
    // Azure: a public address that only Azure's own machines reach.
    '168.63.129.16',
    // Oracle Cloud
    '192.0.0.192',
    // Amazon: metadata and pod credentials
    'fd00:ec2::254',
    'fd00:ec2::23',
    // Google Cloud
    'fd20:ce::254',
  ].map((text) => ipaddr.parse(text).toString()),
)

/** The link-local range contains the other clouds' metadata services; the other ranges serve nothing useful. */
const forbiddenRanges: ReadonlySet<string> = new Set(['linkLocal', 'multicast', 'unspecified', 'broadcast'])

/** The range from which IANA assigns global unicast addresses; no other IPv6 range is public (RFC 4291 section 2.4). */
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** Classifies an address in text form; invalid text is `never`. */
export function classifyAddress(text: string): AddressClass {
  if (!ipaddr.isValid(text)) return 'never'
  const address = ipaddr.parse(text)
  const range = address.range()
  if (forbiddenRanges.has(range) || metadataAddresses.has(address.toString())) return 'never'
  if (address.kind() === 'ipv4') return range === 'unicast' ? 'public' : 'internal'
  const embeddedAddresses = embeddedIPv4(address)
  if (embeddedAddresses.some((inner) => classifyAddress(inner) === 'never')) return 'never'
  return embeddedAddresses.length === 0 && range === 'unicast' && address.match(globalUnicast) ? 'public' : 'internal'
}

/** The IPv4 addresses that an IPv6 address leads to, by translation or through a tunnel. */
function embeddedIPv4(address: Address): string[] {
  const bytes = address.toByteArray()
  const at = (start: number, mask = 0) =>
    bytes
      .slice(start, start + 4)
      .map((byte) => byte ^ mask)
      .join('.')
  const isInNetwork = (network: string) => address.match(ipaddr.parseCIDR(network))
  if (isInNetwork('::1/128')) return []
  // IPv4-compatible and IPv4-mapped (RFC 4291 section 2.5.5), translated (RFC 6145) and NAT64 (RFC 6052, RFC 8215).
  if (['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48'].some(isInNetwork)) return [at(12)]
  // 6to4 (RFC 3056).
  if (isInNetwork('2002::/16')) return [at(2)]
  // Teredo: the server, and the client with all bits inverted (RFC 4380 section 4).
  if (isInNetwork('2001::/32')) return [at(4), at(12, 0xff)]
  return []
}
