import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from './people.ts'
import { createDatabase, testCluster } from './postgres.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
  withoutBackground,
} from './service.ts'
import { watchedClient } from './watched-client.ts'

// Each write of the service to a connection waits for the answer to the previous one.
const writes: string[] = []
let service: TestService
let organization: TestOrganization
let call: Call
let stages: Json[]
beforeAll(async () => {
  const { connection, drop } = await createDatabase()
  const Client = watchedClient((written) => Boolean(writes.push(written)))
  service = await startTestService(withoutBackground, {
    connection: { ...connection, Client } as pg.ClientConfig,
    drop,
  })
  organization = await service.newOrganization()
  call = organization.call
  const [pipeline] = (await call('GET', '/v5/pipelines')).body
  stages = (await call('GET', `/v5/pipelines/${pipeline.id}/stages?orderBy=position&sort=asc`)).body
})
afterAll(() => service.close())

/**
 * The writes of one request: the fewest of three, because the service also counts requests and notes when a key was
 * used. Another one goes first, because the service remembers what it reads.
 */
async function trips(send: (number: number) => ReturnType<Call>): Promise<number> {
  const counts: number[] = []
  for (let number = 1; number <= 4; number++) {
    writes.length = 0
    const { status, text } = await send(number)
    expect([status, status < 300 ? '' : text]).toEqual([status, ''])
    if (number > 1) counts.push(writes.length)
  }
  return Math.min(...counts)
}

const create = async (path: string, body: object): Promise<Json> => (await call('POST', path, { body })).body
const isCitus = () => testCluster().engine === 'citus'
/** With Citus, credentials are on another server than records, so that they are checked by another statement. */
const tripsOfCreate = () => (isCitus() ? 2 : 1)

test('a create is one round trip, whatever it refers to', async () => {
  const { id: companyId } = await create('/v5/companies', { name: 'Engines' })
  const { userId: ownerId, teamId } = organization
  const bodies = { companyId, ownerId, teamId }
  const wanted: [string, object][] = [
    ['/v5/contacts', {}],
    ['/v5/contacts', { companyId }],
    ['/v5/contacts', bodies],
    ['/v5/companies', { ownerId }],
  ]
  for (const [path, body] of wanted) {
    const count = await trips((number) => call('POST', path, { body: { name: `Ada ${number}`, ...body } }))
    expect([path, body, count]).toEqual([path, body, tripsOfCreate()])
  }
})

test('a create by a person who is logged in is one round trip too', async () => {
  const asPerson = callAs(service, organization.accessToken)
  const { id: companyId } = await create('/v5/companies', { name: 'Looms' })
  const bodies = [{ companyId }, { tags: ['a'], customProperties: { plan: 'free' } }]
  for (const body of bodies) {
    const count = await trips((number) =>
      asPerson('POST', '/v5/contacts', { body: { name: `Ada ${number}`, ...body } }),
    )
    expect([body, count]).toEqual([body, tripsOfCreate()])
  }
})

test('a create that takes more than one statement is two round trips', async () => {
  const { id: contactId } = await create('/v5/contacts', { name: 'Ada' })
  const { id: companyId } = await create('/v5/companies', { name: 'Mills' })
  const wanted: [string, (number: number) => object][] = [
    ['/v5/contacts', (number) => ({ name: 'Ada', companyId, externalIds: { shop: `c-${number}` } })],
    ['/v5/deals', () => ({ name: 'Engine' })],
    ['/v5/deals', () => ({ name: 'Engine', stageId: stages[1].id, companyId, ownerId: organization.userId })],
    ['/v5/tasks', () => ({ title: 'Call', contactId, dueDate: '2030-01-01' })],
    [`/v5/contacts/${contactId}/notes`, () => ({ body: 'Called.' })],
  ]
  for (const [path, body] of wanted)
    expect([path, await trips((number) => call('POST', path, { body: body(number) }))]).toEqual([path, 2])
})

test('a change is two round trips, whatever it changes', async () => {
  const [{ id: first }, { id: second }] = [
    await create('/v5/companies', { name: 'First' }),
    await create('/v5/companies', { name: 'Second' }),
  ]
  const contact = await create('/v5/contacts', { name: 'Ada', email: 'ada@example.com', companyId: first })
  const deal = await create('/v5/deals', { name: 'Engine' })
  const wanted: [string, (number: number) => object][] = [
    [`/v5/contacts/${contact.id}`, (number) => ({ city: `City ${number}`, tags: [`${number}`] })],
    [
      `/v5/contacts/${contact.id}`,
      (number) => ({ companyId: [first, second][number % 2], ownerId: organization.userId }),
    ],
    [`/v5/contacts/${contact.id}`, (number) => ({ email: `ada-${number}@example.com` })],
    [`/v5/contacts/${contact.id}`, (number) => ({ externalIds: { shop: `${number}` }, customProperties: { number } })],
    [`/v5/companies/${first}`, (number) => ({ name: `Name ${number}` })],
    [`/v5/deals/${deal.id}`, (number) => ({ stageId: stages[number - 1].id, companyId: first })],
  ]
  for (const [path, body] of wanted)
    expect([path, await trips((number) => call('PATCH', path, { body: body(number) }))]).toEqual([path, 2])
})

test('a move of a deal is two round trips, and so is its deletion', async () => {
  const { id: companyId } = await create('/v5/companies', { name: 'Pumps' })
  const other = await create('/v5/deals', { name: 'Other', stageId: stages[2].id })
  for (const values of [{}, { companyId }]) {
    const deal = await create('/v5/deals', { name: 'Engine', ...values })
    const move = (number: number) =>
      call('POST', `/v5/deals/${deal.id}/move`, { body: { stageId: stages[number - 1].id } })
    expect(await trips(move)).toBe(2)
    const place = () =>
      call('POST', `/v5/deals/${deal.id}/move`, { body: { stageId: stages[2].id, afterId: other.id } })
    expect(await trips(place)).toBe(2)
  }
  const deals: Json[] = []
  for (const name of ['One', 'Two', 'Three', 'Four']) deals.push(await create('/v5/deals', { name }))
  expect(await trips((number) => call('DELETE', `/v5/deals/${deals[number - 1].id}`))).toBe(2)
})
