import fc from 'fast-check'
import { expect, test } from 'vitest'
import { classifyAddress } from './addresses.ts'

const table: Record<ReturnType<typeof classifyAddress>, readonly string[]> = {
  public: [
    '1.1.1.1',
    '93.184.215.14',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450:4001::8a',
  ],
  internal: [
    // RFC 1918, loopback, CGNAT
    ...[
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '127.0.0.1',
      '127.255.0.1',
      '100.64.0.1',
      '100.127.255.255',
    ],
    // Protocol assignments, documentation, benchmarking, 6to4 relays, reserved
    ...[
      '192.0.0.8',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.9',
      '198.18.0.1',
      '198.19.255.1',
      '192.88.99.1',
      '240.0.0.1',
    ],
    ...[
      '::1',
      'fc00::1',
      'fd12:3456::1',
      'fec0::1',
      '100::1',
      '2001:db8::1',
      '3fff::1',
      '2001:2::1',
      '2001:20::1',
      '5f00::1',
      '4000::1',
    ],
    // Leads to IPv4, even to a public address
    ...['::ffff:10.0.0.1', '::ffff:1.1.1.1', '::1.1.1.1', '64:ff9b::1.1.1.1', '64:ff9b:1::10.0.0.1', '2002:101:101::1'],
    '2001:0:101:101::fefe:fefe',
  ],
  never: [
    ...['0.0.0.0', '0.1.2.3', '255.255.255.255', '224.0.0.1', '239.255.255.255', '::', 'ff02::1', 'ff0e::1'],
    ...['169.254.169.254', '169.254.170.2', '169.254.0.1', 'fe80::1', 'fe80::1%eth0', 'febf::1', 'fe80::a9fe:a9fe'],
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd00:0ec2:0:0::254', 'fd20:ce::254'],
    // Metadata and link-local addresses behind a translation or a tunnel
    ...['::ffff:169.254.169.254', '::a9fe:a9fe', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a9fe:a9fe', '2002:a9fe:a9fe::1'],
    ...['2001:0:a9fe:a9fe::fefe:fefe', '2001:0:101:101::5601:5601', '::ffff:6464:64c8', '::ffff:0:169.254.169.254'],
    ...['', 'id.example', '1.2.3.4.5', '300.1.1.1'],
  ],
}

for (const [addressClass, addresses] of Object.entries(table)) {
  test.each(addresses)(`%j is ${addressClass}`, (address) => {
    expect(classifyAddress(address)).toBe(addressClass)
  })
}

test('an IPv6 address that embeds an IPv4 address is never public, and is forbidden if that one is', () => {
  const v4 = fc.ipV4()
  const forms = [
    (text: string) => `::ffff:${text}`,
    (text: string) => `64:ff9b::${text}`,
    (text: string) => `64:ff9b:1::${text}`,
    (text: string) => {
      const [a = 0, b = 0, c = 0, d = 0] = text.split('.').map(Number)
      return `2002:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}::1`
    },
  ]
  fc.assert(
    fc.property(v4, fc.constantFrom(...forms), (address, form) => {
      const addressClass = classifyAddress(form(address))
      expect(addressClass).toBe(classifyAddress(address) === 'never' ? 'never' : 'internal')
    }),
  )
})
