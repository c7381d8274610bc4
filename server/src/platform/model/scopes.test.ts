import { roleScopes } from '../../app.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allScopes, covers, parseScope } from './scopes.ts'

test.each([
  ['urn:service:contact:list:read', 'contact:list:read', true],
  ['urn:service:contact:*:read', 'contact:list:read', true],
  ['urn:service:*:list:read', 'contact:list:read', true],
  ['urn:service:*:*:read', 'contact:list:read', true],
  ['urn:service:contact:list:*', 'contact:list:read', true],
  ['urn:service:contact:get:read', 'contact:list:read', false],
  ['urn:service:company:*:read', 'contact:list:read', false],
  ['urn:service:contact:*:write', 'contact:list:read', false],
  ['urn:service:*:*:write', 'contact:list:read', false],
  ['urn:service:*:*:read', 'contact:create:write', false],
])('%s covers %s: %s', (granted, needed, expected) => {
  expect(covers([granted], needed)).toBe(expected)
})

test('one of several scopes is enough, and no scopes cover nothing', () => {
  expect(covers(['urn:service:company:*:read', 'urn:service:contact:list:read'], 'contact:list:read')).toBe(true)
  expect(covers([], 'contact:list:read')).toBe(false)
})

test('no wildcard resource allows creating API keys, only the resource by name', () => {
  for (const scope of [...allScopes, 'urn:service:*:create:write', 'urn:service:*:*:*']) {
    expect(covers([scope], 'api-key:create:write'), scope).toBe(false)
  }
  expect(covers(allScopes, 'api-key:list:read')).toBe(true)
  expect(covers(['urn:service:api-key:*:write'], 'api-key:create:write')).toBe(true)
  expect(covers(['urn:service:api-key:*:*'], 'api-key:create:write')).toBe(true)
})

test('write never implies read, nor read write', () => {
  const part = fc.constantFrom('contact', 'company', 'list', 'get', '*')
  const literal = fc.constantFrom('contact', 'company', 'list', 'get')
  fc.assert(
    fc.property(part, part, literal, literal, (resource, action, wantedResource, wantedAction) => {
      expect(covers([`urn:service:${resource}:${action}:write`], `${wantedResource}:${wantedAction}:read`)).toBe(false)
      expect(covers([`urn:service:${resource}:${action}:read`], `${wantedResource}:${wantedAction}:write`)).toBe(false)
    }),
  )
})

test('a scope is accepted in full and short form, and returned in full form', () => {
  expect(parseScope('contact:list:read')).toBe('urn:service:contact:list:read')
  expect(parseScope('urn:service:api-key:*:write')).toBe('urn:service:api-key:*:write')
  expect(parseScope('*:*:*')).toBe('urn:service:*:*:*')
})

test.each(['', 'contact', 'contact:list', 'contact:list:delete', 'contact:list:read:more', 'Contact:list:read'])(
  '"%s" is not a scope',
  (text) => {
    expect(parseScope(text)).toBeUndefined()
  },
)

test.each(['con*:list:read', ':list:read', 'urn:other:contact:list:read', 'urn:service:', 'contact:list:read '])(
  '"%s" is not a scope either',
  (text) => {
    expect(parseScope(text)).toBeUndefined()
  },
)

test('an owner can create API keys, a member can write contacts but not keys, a viewer can only read', () => {
  expect(covers(roleScopes('owner'), 'api-key:create:write')).toBe(true)
  expect(covers(roleScopes('member'), 'contact:create:write')).toBe(true)
  expect(covers(roleScopes('member'), 'api-key:create:write')).toBe(false)
  expect(covers(roleScopes('member'), 'team:create:write')).toBe(false)
  expect(covers(roleScopes('viewer'), 'contact:list:read')).toBe(true)
  expect(covers(roleScopes('viewer'), 'contact:create:write')).toBe(false)
})
