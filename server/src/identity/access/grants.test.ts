import { roleScopes } from '../../app.ts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coversScope, namesGuarded, refusedScopes } from './grants.ts'
import { covers, isGuarded } from '../../platform/model/scopes.ts'

const resources = ['contact', 'api-key', 'member', 'mail-content', 'later']
const actions = ['list', 'create', 'later']
const scope = fc
  .tuple(fc.constantFrom('*', ...resources), fc.constantFrom('*', ...actions), fc.constantFrom('*', 'read', 'write'))
  .map((parts) => `urn:service:${parts.join(':')}`)
const granted = fc.array(scope, { maxLength: 4 })

/** All scopes that a route could need. */
const needs = resources.flatMap((resource) =>
  actions.flatMap((action) => ['read', 'write'].map((permission) => `${resource}:${action}:${permission}`)),
)

test('a covered scope allows nothing that the granted scopes do not allow', () => {
  fc.assert(
    fc.property(granted, scope, (own, wanted) => {
      if (!coversScope(own, wanted)) return
      for (const needed of needs)
        if (covers([wanted], needed)) expect([needed, covers(own, needed)]).toEqual([needed, true])
    }),
    { numRuns: 2000 },
  )
})

test('a granted scope and each part of it are covered', () => {
  fc.assert(
    fc.property(granted, scope, (own, one) => {
      expect(coversScope([...own, one], one)).toBe(true)
      for (const needed of needs) {
        if (covers([one], needed)) expect(coversScope([...own, one], `urn:service:${needed}`)).toBe(true)
      }
    }),
  )
})

test.each([
  ['*:*:*', 'api-key:create:write'],
  ['*:*:write', 'api-key:*:write'],
  ['*:*:*', 'api-key:*:*'],
  ['*:create:*', 'api-key:create:write'],
  ['contact:*:read', 'contact:*:*'],
  ['contact:list:read', 'contact:*:read'],
  ['contact:*:*', '*:*:read'],
  ['contact:*:*', 'company:list:read'],
])('%s does not cover %s', (own, wanted) => {
  expect(coversScope([`urn:service:${own}`], `urn:service:${wanted}`)).toBe(false)
})

test('wildcards for all existing resources do not cover the wildcard for every resource', () => {
  const all = needs.map((needed) => `urn:service:${needed.split(':')[0]}:*:*`)
  expect(coversScope(all, 'urn:service:*:*:read')).toBe(false)
})

test.each([
  ['api-key:create:write', true],
  ['api-key:*:*', true],
  ['member:*:write', true],
  ['api-key:list:read', false],
  ['*:*:*', false],
  ['contact:*:*', false],
])('%s names a guarded permission: %s', (text, is) => {
  expect(namesGuarded(`urn:service:${text}`)).toBe(is)
})

test('only an owner can grant guarded permissions, and nobody can grant what they lack', () => {
  const guarded = ['urn:service:api-key:*:write']
  expect(refusedScopes({ scopes: roleScopes('owner'), role: 'owner' }, guarded)).toEqual([])
  expect(refusedScopes({ scopes: roleScopes('admin'), role: 'admin' }, guarded)).toEqual(guarded)
  // A key has no role, whatever its creator and scopes.
  expect(refusedScopes({ scopes: roleScopes('owner'), role: undefined }, guarded)).toEqual(guarded)
  fc.assert(
    fc.property(granted, granted, fc.constantFrom(undefined, 'admin', 'member', 'viewer'), (own, wanted, role) => {
      const given = wanted.filter((one) => !refusedScopes({ scopes: own, role }, wanted).includes(one))
      for (const needed of needs) {
        if (!covers(given, needed)) continue
        const [resource = '', , permission = ''] = needed.split(':')
        expect([covers(own, needed), isGuarded(resource, permission)]).toEqual([true, false])
      }
    }),
    { numRuns: 1000 },
  )
})
