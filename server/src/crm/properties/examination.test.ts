import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'
import { createConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { WorkNeeded } from '../../platform/database/work-needed.ts'
import { type Actor, serviceActor } from '../../platform/model/caller.ts'
import { newId, decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { contacts } from '../contacts/resource.ts'
import { contactStore } from '../contacts/store.ts'
import { examineAllRecords } from './examination.ts'
import { definitionOf } from './rules.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const body = { resource: 'contacts', key: 'size', type: 'choice', label: 'Size', choices: ['s', 'm'].map(choiceOf) }
function choiceOf(value: string) {
  return { value, label: value }
}
const examination = { resource: contacts, definition: definitionOf(newId(), body), checksFit: true, removed: ['m'] }
const queryLimiter = createConcurrencyLimiter({ concurrency: 1, queue: 1, waitMilliseconds: 1000 })

/** Examines in a transaction, with `meanwhile` between the work before it and the transaction. */
async function examine(actor: Actor, meanwhile: () => Promise<unknown>) {
  const attempt = (transaction: Transaction) => examineAllRecords(transaction, examination)
  const needed: unknown = await service.database.transaction(actor, attempt).catch((error: unknown) => error)
  if (!(needed instanceof WorkNeeded)) throw new Error('no work is needed')
  const copy = { ...actor }
  await needed.work({ database: service.database, queryLimiter }, copy)
  await meanwhile()
  return service.database.transaction(copy, attempt)
}

test('what writers store while the records are examined is examined too, even if they began before', async () => {
  const { organizationId, call } = await service.newOrganization()
  const actor = serviceActor('command', decodeId('org', organizationId) ?? '')
  const names = ['to be changed', 'to be deleted', 'unchanged']
  const [changed, deleted] = await Promise.all(
    names.map(
      async (name) => (await call('POST', '/v5/contacts', { body: { name, customProperties: { size: 's' } } })).body.id,
    ),
  )
  expect(await examine(actor, async () => undefined)).toMatchObject({ used: 3, unfit: 0, removed: 0 })

  let resume = () => undefined as void
  const isResumed = new Promise<void>((resolve) => (resume = resolve))
  let begin = () => undefined as void
  const hasBegun = new Promise<void>((resolve) => (begin = resolve))
  const writing = service.database.transaction(actor, async (transaction) => {
    await transaction.query(sql`select where ${transaction.organization} is not null`)
    begin()
    await isResumed
    await contactStore.write(transaction, [
      { kind: 'create', values: { name: 'New', customProperties: { size: 'large' } } },
      { kind: 'update', id: decodeId('con', changed) ?? '', values: { customProperties: { size: ['m'] } } },
    ])
  })
  await hasBegun
  // Longer than the margin for the precision of the clock.
  await delay(1500)
  const found = await examine(actor, async () => {
    resume()
    await writing
    await call('PATCH', `/v5/contacts/${deleted}`, { body: { customProperties: { size: 'm' } } })
    await call('DELETE', `/v5/contacts/${deleted}`)
  })
  expect(found).toMatchObject({ unfit: 2, removed: 2 })
  expect(found.examples.map(({ value }) => value).toSorted()).toEqual([['m'], 'large'].toSorted())
})

test('no value gets past a definition that is made while values are written', async () => {
  const { call } = await service.newOrganization()
  const define = () => call('POST', '/v5/properties', { body })
  const write = async (size: string) =>
    (await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { size } } })).status
  const statuses: number[] = []
  let isDefined = false
  const writer = async (): Promise<void> => {
    while (!isDefined) statuses.push(await write('large'))
  }
  const correct = async (): Promise<void> => {
    const { body: unfit } = await call('GET', '/v5/contacts?customProperties.size=large&limit=100')
    await Promise.all(
      unfit.map(({ id }: Json) => call('PATCH', `/v5/contacts/${id}`, { body: { customProperties: { size: 's' } } })),
    )
  }
  expect(await write('large')).toBe(201)
  const refused = await define()
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'customProperties.size' }] } })
  await correct()
  const writers = [writer(), writer()]
  // Either it is refused because of a value that a writer stored, or their values are refused.
  for (let made = 0; made !== 201;) {
    made = (await define()).status
    if (made === 422) await correct()
    if (statuses.length > 20) isDefined = true
    expect([201, 422]).toContain(made)
  }
  isDefined = true
  await Promise.all(writers)
  expect(await write('large')).toBe(422)
  const all = (await call('GET', '/v5/contacts?limit=100')).body.map(
    ({ customProperties }: Json) => customProperties.size,
  )
  expect(new Set(all)).toEqual(new Set(['s']))
})
