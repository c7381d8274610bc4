import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { newContact } from '../../test/webhook-fixture.ts'
import { contacts } from '../crm/contacts/resource.ts'
import { placeEvents } from '../feed/positions-store.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'
import type { ClaimedDelivery } from './dispatch-store.ts'
import { Messages } from './messages.ts'

let service: TestService
let organization: TestOrganization
let organizationId: string
beforeAll(async () => {
  service = await startTestService({ WEBHOOK_CONCURRENCY: '0' })
  organization = await service.newOrganization()
  organizationId = decodeId('org', organization.organizationId) ?? ''
})
afterAll(() => service.close())

const newMessages = () =>
  new Messages({
    database: service.database,
    sources: { followed: () => [contacts], relations: () => ({}), recordPath: () => '/v5/contacts' },
    origin: () => 'https://crm.example',
  })

/** The first attempt of a webhook to report the creation of this contact. */
async function creationOf(recordId: string): Promise<ClaimedDelivery> {
  await placeEvents(service.database, organizationId)
  const [event] = await service.database.crossTenantQuery<{ id: string; position: string }>(
    'check the database',
    sql`select id, "position" from events where organization_id = ${organizationId}::uuid
      and record_id = ${decodeId('con', recordId)}::uuid and kind = 'created'`,
  )
  if (!event) throw new Error('the event is missing')
  const counts = { isTest: false, tries: 1, attemptCount: 1 }
  const { id: eventId, position } = event
  return { ...counts, id: newId(), eventId, type: 'contact.created', recordId, createdAt: '', position }
}

test('a message that is used again has no values of a person who was erased meanwhile', async () => {
  const messages = newMessages()
  const [ada, grace] = [
    await newContact(organization.call, { name: 'Ada' }),
    await newContact(organization.call, { name: 'Grace' }),
  ]
  const deliveries = [await creationOf(ada.id), await creationOf(grace.id)]
  const bodies = async () =>
    (await messages.compose(organizationId, deliveries)).map(({ message }) => message?.body ?? '')
  const before = await bodies()
  expect(before).toEqual([expect.stringContaining('"Ada"'), expect.stringContaining('"Grace"')])
  await organization.call('PATCH', `/v5/contacts/${grace.id}`, { body: { name: 'Grace Hopper' } })
  expect((await organization.call('POST', `/v5/contacts/${ada.id}/erase`)).status).toBe(204)
  const [first, second] = await bodies()
  expect(JSON.parse(first ?? '').data).toMatchObject({ recordId: ada.id, values: null, object: null })
  // The other one is the same text as a moment ago.
  expect(second).toBe(before[1])
})
