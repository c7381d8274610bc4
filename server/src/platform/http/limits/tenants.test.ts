import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createTrust } from '../protocol/forwarded.ts'
import { isAddress, Tenants } from './tenants.ts'

const newTenants = () => new Tenants({ trust: createTrust(false), isPush: (path) => path.startsWith('/push/') })

interface Given {
  authorization?: string
  organization?: string
  url?: string
  address?: string
}
const requestWith = ({ authorization, organization, url = '/v5/contacts', address = '192.0.2.1' }: Given) =>
  ({
    url,
    headers: { authorization, 'service-organization-id': organization },
    socket: { remoteAddress: address },
  }) as unknown as IncomingMessage

test('a credential is that of an address until its tenant is known, in each organization of a person', () => {
  const tenants = newTenants()
  const given = { authorization: 'Bearer one', organization: 'org_1' }
  const request = requestWith(given)
  expect(isAddress(tenants.of(request))).toBe(true)
  tenants.learn(request, 'tenant')
  expect(tenants.of(requestWith({ ...given, url: '/v5/companies', address: '192.0.2.9' }))).toBe('tenant')
  expect(isAddress(tenants.of(requestWith({ ...given, organization: 'org_2' })))).toBe(true)
  expect(isAddress(tenants.of(requestWith({ ...given, authorization: 'Bearer two' })))).toBe(true)
})

test('invalid credentials and requests without one are those of their address', () => {
  const tenants = newTenants()
  const request = requestWith({ authorization: 'Bearer revoked' })
  tenants.of(request)
  tenants.learn(request, 'tenant')
  const next = requestWith({ authorization: 'Bearer revoked' })
  tenants.of(next)
  tenants.forget(next)
  const of = (given: Given) => tenants.of(requestWith(given))
  expect(of({ authorization: 'Bearer revoked' })).toBe(of({}))
  expect(of({ authorization: 'Bearer invalid' })).toBe(of({}))
  expect(of({ address: '192.0.2.2' })).not.toBe(of({}))
  // A host has a whole network of these.
  expect(of({ address: '2001:db8::1' })).toBe(of({ address: '2001:db8::2' }))
})

test('a push is known by its path, whatever its query and its headers are', () => {
  const tenants = newTenants()
  const request = requestWith({ url: '/push/one', authorization: 'Basic abc' })
  tenants.of(request)
  tenants.learn(request, 'tenant')
  expect(tenants.of(requestWith({ url: '/push/one?a=b' }))).toBe('tenant')
  expect(isAddress(tenants.of(requestWith({ url: '/push/two', authorization: 'Basic abc' })))).toBe(true)
})
