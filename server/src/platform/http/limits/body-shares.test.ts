import { expect, onTestFinished, test, vi } from 'vitest'
import { callAs } from '../../../../test/people.ts'
import { newImport } from '../../../../test/pushes.ts'
import { startTestService } from '../../../../test/service.ts'
import { BodyBudget } from './body-budget.ts'

test('the bodies of all keys of an organization have one share of the memory, and those of all its imports another', async () => {
  const open = vi.spyOn(BodyBudget.prototype, 'open')
  onTestFinished(() => open.mockRestore())
  const service = await startTestService()
  onTestFinished(() => service.close())
  const [one, other] = [await service.newOrganization(), await service.newOrganization()]
  const header = { 'service-organization-id': one.organizationId }
  const scopes = ['urn:service:contact:create:write']
  const { body: key } = await one.call('POST', '/v5/api-keys', { body: { name: 'Second', scopes } })
  const imports = [await newImport(service, one), await newImport(service, one), await newImport(service, other)]
  open.mockClear()
  const callers = () => open.mock.calls.map(([caller]) => caller)
  for (const call of [one.call, callAs(service, key.apiKey, header), other.call])
    expect((await call('POST', '/v5/contacts', { body: { name: 'Ada' } })).status).toBe(201)
  expect(callers()).toEqual([one.organizationId, one.organizationId, other.organizationId])
  open.mockClear()
  for (const { push } of imports) expect((await push({ contact: { email: 'ada@example.com' } })).status).toBe(200)
  const [first, second, third] = callers()
  expect(first).toBe(second)
  expect(new Set([first, third, one.organizationId, other.organizationId]).size).toBe(4)
})
