import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { created } from '../../test/inbox-fixture.ts'
import { isDistributed } from '../../test/engines.ts'
import { newEmail } from '../../test/people.ts'
import { rowsWith } from '../../test/personal-values.ts'
import { until } from '../../test/processes.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from '../../test/service.ts'
import { newWebhook, sendsToLoopback } from '../../test/webhook-fixture.ts'
import { Receiver } from '../../test/webhook-receiver.ts'
import { mailOf } from '../../test/mail-queue.ts'
import { queueMail } from '../identity/mails/store.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId, newId } from '../platform/model/ids.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let word: string
beforeAll(async () => {
  service = await startTestService(sendsToLoopback)
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  word = `zq${newId().replaceAll('-', '').slice(12)}`
})
afterAll(() => service.close())

async function erase({ id }: Json): Promise<void> {
  const erased = await call('POST', `/v5/contacts/${id}/erase`)
  expect(erased.status, erased.text).toBe(204)
}

test.skipIf(isDistributed())(
  'a message that waits for the receiver is sent without the values of a person who was erased meanwhile',
  async () => {
    const receiver = await new Receiver().open()
    const answers: (() => void)[] = []
    receiver.answer = (response) => void answers.push(() => response.writeHead(204).end())
    const { id } = await newWebhook(call, receiver)
    for (const name of ['Ada', 'Grace', 'Alan', 'Edsger']) await created(call, '/v5/contacts', { name })
    await until('all attempts of the webhook are in progress', () => answers.length === 4)
    const [contact, other] = [
      await created(call, '/v5/contacts', { name: word }),
      await created(call, '/v5/contacts', { name: 'Barbara' }),
    ]
    await until('the messages are composed', async () => {
      const { body } = await call('GET', `/v5/webhooks/${id}/deliveries/count?filter.status.equals=delivering`)
      return body.count === 6
    })
    await erase(contact)
    receiver.answer = (response) => void response.writeHead(204).end()
    for (const answer of answers) answer()
    const messages = ({ id: recordId }: Json) => receiver.received.filter(({ body }) => body.data.recordId === recordId)
    await until('all have arrived', () => messages(contact).length >= 3 && messages(other).length > 0)
    expect(messages(contact).filter(({ text }) => text.includes(word))).toEqual([])
    const creation = messages(contact).find(({ body }) => body.type === 'contact.created')
    expect(creation?.body.data).toMatchObject({ recordId: contact.id, values: null, object: null })
    expect(messages(other)[0]?.body.data).toMatchObject({ values: { name: 'Barbara' } })
    await receiver.close()
  },
)

test('a mail that is written while a person is erased is not sent, and the database has no word of it', async () => {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  const [contact, other] = [
    await created(call, '/v5/contacts', { name: word }),
    await created(call, '/v5/contacts', { name: 'Grace' }),
  ]
  const [recipient, another] = [newEmail(), newEmail()]
  const digestOf = ({ id, name }: Json, to: string) => {
    const path = `/contacts/${id}`
    const lines = JSON.stringify([{ says: 'Assigned to you', title: name, path }])
    const facts = { language: 'en', count: '1', lines, records: id, path: '/inbox' } as const
    return { kind: 'digest', organizationId, recipient: to, facts } as const
  }
  await service.database.transaction(serviceActor('maintenance', organizationId), async (writing) => {
    await queueMail(writing, digestOf(contact, recipient))
    await queueMail(writing, digestOf(other, another))
    await erase(contact)
  })
  service.wake('mail')
  await until('the mails are handled', async () =>
    (await Promise.all([recipient, another].map((to) => mailOf(service, to)))).every(
      ({ status }) => status !== 'queued',
    ),
  )
  expect(await mailOf(service, recipient)).toMatchObject({
    status: 'dropped',
    lastError: 'it names a person who was erased',
    isSealed: false,
  })
  // Nobody has this address.
  expect((await mailOf(service, another)).lastError).toBe('the account is gone')
  expect(await rowsWith(service.database, [word])).toEqual([])
})
