import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectFound, expectRefused, withContacts } from '../../../../test/list-calls.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('equalsIgnoreCase finds an address with the comparison that makes addresses unique', async () => {
  const emails = ['Ada@Example.com', 'adam@example.com', 'zoë@Bücher.example', 'ZOE@example.com', null]
  const call = await withContacts(
    service,
    emails.map((email) => ({ email })),
  )
  const operator = 'filter.email.equalsIgnoreCase'
  await expectFound(call, {
    [`${operator}=ada@EXAMPLE.com`]: [1],
    [`${operator}=Ada@Example.com`]: [1],
    [`${operator}=${encodeURIComponent('ZOË@xn--bcher-kva.EXAMPLE')}`]: [3],
    [`${operator}=${encodeURIComponent('zoe@bücher.example')}`]: [],
    [`${operator}=zoe@example.com&filter.email.startsWith=Z`]: [4],
    'filter.email.equals=ada@example.com': [],
  })
  expect((await call('GET', `/v5/contacts/count?${operator}=ADA@example.com`)).body).toEqual({ count: 1 })
  await expectRefused(call, {
    'filter.name.equalsIgnoreCase=ada': ['filter.name.equalsIgnoreCase', 'found "'],
    'filter.customProperties.plan.equalsIgnoreCase=a': ['filter.customProperties.plan.equalsIgnoreCase', 'found "'],
    [`${operator}=`]: [operator, 'expected a value'],
    [`${operator}=null`]: [operator, 'expected an email address'],
    [`${operator}=ada@example`]: [operator, 'expected an email address'],
  })
  // `contacts_email_unique` uses the same comparison.
  const taken = await call('POST', '/v5/contacts', { body: { email: 'ZOË@xn--bcher-kva.example' } })
  expect(taken.status).toBe(409)
})

test('equalsIgnoreCase finds invitations and members by address', async () => {
  const { call } = await service.newOrganization()
  const invited = await call('POST', '/v5/invitations', { body: { email: 'Grace@Bücher.example', role: 'viewer' } })
  expect(invited.status).toBe(201)
  const spelled = encodeURIComponent('grace@XN--BCHER-KVA.example')
  const found = await call('GET', `/v5/invitations?filter.email.equalsIgnoreCase=${spelled}`)
  expect(found.body).toMatchObject([{ id: invited.body.id }])
  expect((await call('GET', '/v5/invitations?filter.email.equalsIgnoreCase=grace@example.com')).body).toEqual([])

  const [member] = (await call('GET', '/v5/members')).body
  const address = encodeURIComponent(member.person.email.toUpperCase())
  const path = `/v5/members/count?filter.person.email`
  expect((await call('GET', `${path}.equals=${address}`)).body).toEqual({ count: 0 })
  expect((await call('GET', `${path}.equalsIgnoreCase=${address}`)).body).toEqual({ count: 1 })
})
