import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areWithin, isWithin, parseIpNetwork } from './networks.ts'

test.each([
  ['203.0.113.7', '203.0.113.7'],
  [' 203.0.113.7 ', '203.0.113.7'],
  ['203.0.113.7/32', '203.0.113.7'],
  ['203.0.113.0/24', '203.0.113.0/24'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['2001:db8::/32', '2001:db8::/32'],
  ['2001:db8::1/128', '2001:db8::1'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.0/120', '203.0.113.0/24'],
  ['::ffff:cb00:7107', '203.0.113.7'],
])('%s is stored as %s', (text, network) => {
  expect(parseIpNetwork(text)).toEqual({ network })
})

test.each([
  '',
  'localhost',
  'example.com',
  '203.0.113',
  '203.0.113.7.1',
  '203.0.113.256',
  '010.0.0.1',
  '0x7f.0.0.1',
  '0x7f000001',
  '2130706433',
  '127.1',
  '203.0.113.7:80',
  '203.0.113.0/33',
  '203.0.113.0/-1',
  '203.0.113.0/',
  '203.0.113.0/24/24',
  '203.0.113.0/2 4',
  '203.0.113.0/255.255.255.0',
  '2001:db8::/129',
  'fe80::1%eth0',
  '[2001:db8::1]',
  '*',
])('"%s" is neither an address nor a network', (text) => {
  expect(parseIpNetwork(text)).toHaveProperty('error', expect.stringContaining('expected an IP address'))
})

test('a network with host bits is rejected, and the error suggests the intended network', () => {
  expect(parseIpNetwork('203.0.113.7/24')).toEqual({
    error: 'has bits set after the first 24; expected 203.0.113.0/24',
  })
  expect(parseIpNetwork('10.255.0.0/9')).toHaveProperty('error', expect.stringContaining('10.128.0.0/9'))
  expect(parseIpNetwork('2001:db8::1/64')).toHaveProperty('error', expect.stringContaining('2001:db8::/64'))
})

test.each(['0.0.0.0/0', '::/0'])('%s, which restricts nothing, is rejected', (text) => {
  expect(parseIpNetwork(text)).toHaveProperty('error', expect.stringContaining('leave the list empty'))
})

test.each([
  [['203.0.113.7'], '203.0.113.7', true],
  [['203.0.113.7'], '::ffff:203.0.113.7', true],
  [['203.0.113.7'], '::FFFF:CB00:7107', true],
  [['203.0.113.7'], '203.0.113.8', false],
  [['203.0.113.0/24', '2001:db8::/32'], '203.0.113.255', true],
  [['203.0.113.0/24', '2001:db8::/32'], '203.0.114.0', false],
  [['203.0.113.0/24', '2001:db8::/32'], '2001:db8:ffff::1', true],
  [['203.0.113.0/24', '2001:db8::/32'], '2001:db9::', false],
  [['2001:db8::/32'], '203.0.113.7', false],
  [['203.0.113.0/24'], '2001:db8::1', false],
  [['203.0.113.0/24'], '203.0.113.7:4711', false],
  [['203.0.113.0/24'], 'unknown', false],
  [['203.0.113.0/24'], '', false],
  [['203.0.113.0/24'], undefined, false],
  [[], undefined, true],
  [[], '192.0.2.1', true],
])('the networks %j contain the address %s: %s', (networks, address, is) => {
  expect(isWithin(networks, address)).toBe(is)
})

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
const networks = fc.array(
  fc.tuple(octets, fc.integer({ min: 1, max: 32 })).map(([[a, b, c, d], prefix]) => {
    const start = (((a << 24) | (b << 16) | (c << 8) | d) & (-1 << (32 - prefix))) >>> 0
    const text = [24, 16, 8, 0].map((shift) => (start >>> shift) & 255).join('.')
    const read = parseIpNetwork(`${text}/${prefix}`)
    if (!('network' in read)) throw new Error(read.error)
    return read.network
  }),
  { minLength: 1, maxLength: 4 },
)

test('an address in a network is also in each list that covers the network', () => {
  fc.assert(
    fc.property(networks, networks, octets, (inner, others, address) => {
      const outer = [...others, ...inner.slice(1)]
      expect(areWithin(inner.slice(1).length > 0 ? inner.slice(1) : outer, outer)).toBe(true)
      if (!areWithin(inner, outer) || !isWithin(inner, address.join('.'))) return
      expect(isWithin(outer, address.join('.'))).toBe(true)
    }),
    { numRuns: 1000 },
  )
})

test('an empty list means every address, so only an empty list covers it', () => {
  expect(areWithin([], [])).toBe(true)
  expect(areWithin(['203.0.113.7'], [])).toBe(true)
  expect(areWithin([], ['203.0.113.7'])).toBe(false)
  expect(areWithin(['203.0.113.0/24'], ['203.0.113.0/25'])).toBe(false)
  expect(areWithin(['203.0.113.128/25'], ['203.0.113.0/24'])).toBe(true)
  expect(areWithin(['203.0.113.7'], ['::/1'])).toBe(false)
})
