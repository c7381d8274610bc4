import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { declaredActions, resources, roleGroups, routes } from '../../app.ts'
import { auditActions } from './actions.ts'
import { isScoped, supportsIdempotencyKey, type WriteRoute } from '../../platform/http/route.ts'
import { urlOf } from '../../../test/collections.ts'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'
import { newTenant, requestOf, type Tenant } from '../../../test/tenancy.ts'

let service: TestService
let tenant: Tenant
beforeAll(async () => {
  service = await startTestService()
  tenant = await newTenant(service)
})
afterAll(() => service.close())

const writes = routes.filter((route): route is WriteRoute => isScoped(route) && route.kind === 'write')
const audited = writes.filter((route) => route.audited !== undefined)

/** Everyday changes of records, which the audit log does not record. */
const isRecordChange = ({ scope }: WriteRoute): boolean => roleGroups[scope.split(':')[0] ?? ''] === 'records'

test('every write route is audited, except changes of records', () => {
  expect(audited.length).toBeGreaterThan(10)
  const unaudited = writes.filter((route) => !audited.includes(route) && !isRecordChange(route))
  expect(unaudited.map(({ operation }) => operation)).toEqual([])
})

test('every action of the log has a unique description, and every action of a route is one of them', () => {
  const actions: Record<string, string> = { ...auditActions, ...declaredActions }
  expect(audited.filter(({ audited: action = '' }) => !(action in actions))).toEqual([])
  const logged = resources.find(({ table }) => table === 'audit_events')?.fields.action?.schema.enum
  expect(logged).toEqual(Object.keys(actions))
  const sentences = Object.values(actions)
  expect(new Set(sentences).size).toBe(sentences.length)
  for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z].*\.$/)
})

const eventsOf = async (requestId: string): Promise<Json[]> =>
  (await tenant.organization.call('GET', `/v5/audit-log?filter.requestId.equals=${requestId}`)).body

test.each(audited.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s logs one event for a change, none for a rejected or replayed request, and no value that was sent',
  async (_, route) => {
    const { call } = tenant.organization
    const secret = `secret-${randomUUID()}`
    const options = requestOf(route, tenant)
    const key = supportsIdempotencyKey(route) ? { 'idempotency-key': randomUUID() } : {}
    const headers = { ...key, 'user-agent': secret }
    const response = await call(route.method, urlOf(route, options), { ...options, headers })
    const requestId = response.headers.get('x-request-id') ?? ''
    const events = await eventsOf(requestId)
    // The tenant's records did not allow the change, so it was not made.
    if (response.status >= 400) return expect(events).toEqual([])
    expect(events.length).toBeLessThan(2)
    for (const event of events) {
      expect(event).toMatchObject({ action: route.audited, actorKind: 'key', address: '127.0.0.1' })
      const text = JSON.stringify(event)
      for (const shown of [secret, response.body?.apiKey, response.body?.triggerUrl?.slice(-43)]) {
        if (shown !== undefined) expect(text).not.toContain(shown)
      }
    }
    if (!supportsIdempotencyKey(route)) return
    const again = await call(route.method, urlOf(route, options), { ...options, headers })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await eventsOf(again.headers.get('x-request-id') ?? '')).toEqual([])
  },
)
