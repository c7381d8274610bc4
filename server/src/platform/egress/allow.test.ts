import { expect, test } from 'vitest'
import { parseConfig } from '../../config.ts'
import { parseAllowedHost, allowsAddress, allowsName } from './allow.ts'

test.each([
  ['id.internal', { kind: 'name', name: 'id.internal', port: undefined }],
  ['ID.Internal.:8443', { kind: 'name', name: 'id.internal', port: 8443 }],
  ['bücher.internal', { kind: 'name', name: 'xn--bcher-kva.internal', port: undefined }],
  ['10.0.0.5', { kind: 'network', network: '10.0.0.5/32', port: undefined }],
  ['10.0.0.5:8443', { kind: 'network', network: '10.0.0.5/32', port: 8443 }],
  ['fd00::5', { kind: 'network', network: 'fd00::5/128', port: undefined }],
  ['[FD00::5]:443', { kind: 'network', network: 'fd00::5/128', port: 443 }],
  ['10.0.0.0/8', { kind: 'network', network: '10.0.0.0/8', port: undefined }],
  ['fd00::/8', { kind: 'network', network: 'fd00::/8', port: undefined }],
])('EGRESS_ALLOW accepts %s', (text, place) => {
  expect(parseAllowedHost(text)).toEqual(place)
})

test.each([
  ...['http://id.internal', 'id.internal/path', '*.internal', 'user@id.internal', 'a b', ':443', 'id.internal:0'],
  ...['id.internal:65536', '[10.0.0.1]', '[id.internal]', '10.0.0.0/33', '10.0.0.0/8:443', 'id.internal/8', '0x7f.1'],
  ...['2130706433', '010.0.0.1', '169.254.169.254', '[fe80::1]:80', 'fd00:ec2::254', 'metadata.google.internal'],
])('EGRESS_ALLOW rejects %s', (text) => {
  expect(() => parseAllowedHost(text)).toThrow(/^(?:expected|must) /)
  expect(() => parseConfig({ EGRESS_ALLOW: `id.internal,${text}` })).toThrow('EGRESS_ALLOW: ')
})

test('an entry with a port allows only that port, an entry without one allows any', () => {
  const allowed = parseConfig({ EGRESS_ALLOW: 'id.internal:8443, other.internal, 10.0.0.5:80, fd00::/8' }).egressAllow
  expect(allowsName(allowed, 'id.internal', 8443)).toBe(true)
  expect(allowsName(allowed, 'id.internal', 443)).toBe(false)
  expect(allowsName(allowed, 'an.id.internal', 8443)).toBe(false)
  expect(allowsName(allowed, 'other.internal', 1)).toBe(true)
  expect(allowsAddress(allowed, '10.0.0.5', 80)).toBe(true)
  expect(allowsAddress(allowed, '10.0.0.5', 81)).toBe(false)
  expect(allowsAddress(allowed, '10.0.0.6', 80)).toBe(false)
  expect(allowsAddress(allowed, 'fdab::1', 5)).toBe(true)
  expect(allowsAddress(allowed, '::ffff:10.0.0.5', 80)).toBe(false)
})
