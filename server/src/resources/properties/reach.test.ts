import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner } from '../../../test/people.ts'
import { personWith } from '../../../test/reach-fixture.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

test('records out of reach cannot be referenced, and a report counts them without naming them', async () => {
  const owner = await newOwner(mailed.service)
  const scopes = ['urn:service:company:*:*', 'urn:service:property:*:*']
  const role = await owner.call('POST', '/v5/roles', { body: { name: 'Own', scopes, reach: { company: 'own' } } })
  expect(role.status, role.text).toBe(201)
  const person = await personWith(mailed, owner, role.body.id)
  const definition = {
    resource: 'companies',
    key: 'partner',
    type: 'reference',
    label: 'Partner',
    references: 'companies',
  }
  await owner.call('POST', '/v5/properties', { body: definition })
  const create = (call: typeof owner.call, customProperties: object) =>
    call('POST', '/v5/companies', { body: { name: 'Acme', customProperties } })
  const { body: theirs } = await create(owner.call, { seats: 'many' })
  const { body: own } = await create(person.call, { seats: 'few' })

  expect((await create(person.call, { partner: own.id })).status).toBe(201)
  const refused = await create(person.call, { partner: theirs.id })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties.partner' }] } })

  const seats = { resource: 'companies', key: 'seats', type: 'number', label: 'Seats' }
  const report = await person.call('POST', '/v5/properties?dryRun=true', { body: seats })
  expect(report.body).toMatchObject({ unfit: 2, records: [{ id: own.id, value: 'few' }] })
  expect(report.text).not.toContain(theirs.id)
  const everything = await owner.call('POST', '/v5/properties?dryRun=true', { body: seats })
  expect(everything.body.records).toHaveLength(2)
})
