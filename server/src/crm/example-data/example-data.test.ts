import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { contentOf } from './store.ts'

let service: TestService
let organization: TestOrganization
let call: Call
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
})
afterAll(() => service.close())

const path = '/v5/example-data'
const list = async (name: string): Promise<Json[]> => (await call('GET', `/v5/${name}?limit=100`)).body
const fill = (language?: string) => call('POST', path, { body: language === undefined ? {} : { language } })
const none = { companies: 0, contacts: 0, deals: 0, tasks: 0, notes: 0 }
const all = { companies: 8, contacts: 30, deals: 6, tasks: 6, notes: 5 }

test('an organization is filled once, and emptied of everything that came with it', async () => {
  const own = (await call('POST', '/v5/contacts', { body: { name: 'Own Person' } })).body
  expect((await call('GET', path)).body).toEqual(none)
  const first = await fill()
  expect([first.status, first.body]).toEqual([201, all])
  const again = await fill('de')
  expect([again.status, again.body]).toEqual([200, all])
  const contacts = await list('contacts')
  expect(contacts).toHaveLength(31)
  expect(contacts.find(({ name }) => name === 'Mara Lindner')).toMatchObject({
    email: 'mara.lindner@nordwind.example',
    company: { name: 'Nordwind Logistik' },
    tags: ['example'],
  })
  expect((await list('deals')).every(({ status, amount }) => status === 'open' && Number(amount) > 0)).toBe(true)
  const removed = await call('DELETE', path)
  expect([removed.status, removed.body]).toEqual([200, { deleted: all, kept: none }])
  expect((await list('contacts')).map(({ id }) => id)).toEqual([own.id])
  for (const name of ['companies', 'deals', 'tasks', 'notes']) expect(await list(name)).toEqual([])
  expect((await call('DELETE', path)).body).toEqual({ deleted: none, kept: none })
  // Their addresses are free again.
  expect((await fill()).status).toBe(201)
})

test('the example data of one organization are not those of another', async () => {
  const other = await service.newOrganization()
  await fill()
  expect((await other.call('GET', path)).body).toEqual(none)
  expect((await other.call('DELETE', path)).body).toEqual({ deleted: none, kept: none })
  expect((await other.call('POST', path, { body: {} })).body).toEqual(all)
  for (const name of ['contacts', 'companies', 'deals', 'tasks', 'notes'] as const) {
    const { body } = await other.call('GET', `/v5/${name}/count`)
    expect([name, body.count]).toEqual([name, all[name]])
  }
  expect((await other.call('DELETE', path)).body).toEqual({ deleted: all, kept: none })
  expect((await call('GET', path)).body).toEqual(all)
  expect(await list('contacts')).toHaveLength(30)
  expect((await call('DELETE', path)).body).toEqual({ deleted: all, kept: none })
})

test('the texts are in the language that was asked for', async () => {
  await fill('de')
  expect((await list('tasks')).map(({ title }) => title)).toContain('Angebot schicken')
  expect((await list('contacts'))[0].tags).toEqual(['Beispiel'])
  expect((await fill('fr')).status).toBe(422)
})

test('requests at the same time fill it once', async () => {
  const answers = await Promise.all([fill(), fill(), fill()])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  expect(await list('contacts')).toHaveLength(30)
})

test('it can be filled again when somebody has made an example their own, and properties are required', async () => {
  await fill()
  const mara = (await list('contacts')).find(({ name }) => name === 'Mara Lindner')
  await call('PATCH', `/v5/contacts/${mara.id}`, { body: { name: 'Mara Real' } })
  expect((await call('DELETE', path)).body.kept).toMatchObject({ companies: 1, contacts: 1 })
  for (const resource of ['contacts', 'companies', 'deals'])
    await call('POST', '/v5/properties', {
      body: { resource, key: 'plan', label: 'Plan', type: 'text', required: true },
    })
  const again = await fill()
  expect([again.status, again.body], again.text).toEqual([201, all])
  const contacts = await list('contacts')
  expect(contacts.find(({ name }) => name === 'Mara Lindner')).toMatchObject({ email: null, customProperties: {} })
  expect(contacts.filter(({ email }) => email === 'mara.lindner@nordwind.example')).toMatchObject([{ id: mara.id }])
})

test('what a person changed or added to is kept, with what it refers to', async () => {
  await fill()
  const contacts = await list('contacts')
  const named = (name: string): Json => contacts.find((one) => one.name === name)
  const tasks = await list('tasks')
  const [deal] = await list('deals')
  const stages = (await call('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=desc`)).body
  // Renamed: it has become a person's own contact.
  await call('PATCH', `/v5/contacts/${named('Mara Lindner').id}`, { body: { name: 'Mara Real' } })
  // Somebody's own task and note.
  await call('POST', '/v5/tasks', { body: { title: 'Own task', contactId: named('Grace Whitfield').id } })
  await call('POST', `/v5/contacts/${named('Nina Keller').id}/notes`, { body: { body: 'Own note' } })
  // Only play: nothing of it is worth keeping.
  await call('PATCH', `/v5/tasks/${tasks[0].id}`, { body: { done: true } })
  await call('PATCH', `/v5/deals/${deal.id}`, { body: { stageId: stages[0].id } })
  const { body } = await call('DELETE', path)
  expect(body.kept).toEqual({ companies: 3, contacts: 3, deals: 0, tasks: 0, notes: 0 })
  expect((await list('contacts')).map(({ name }) => name).sort()).toEqual([
    'Grace Whitfield',
    'Mara Real',
    'Nina Keller',
  ])
  expect((await list('tasks')).map(({ title }) => title)).toEqual(['Own task'])
  expect((await list('notes')).map((note) => note.body)).toEqual(['Own note'])
  expect(await list('deals')).toEqual([])
  // They are somebody's own from now on.
  expect((await call('DELETE', path)).body).toEqual({ deleted: none, kept: none })
})

test('it leaves alone what was deleted, and what other organizations have', async () => {
  await fill()
  const other = await service.newOrganization()
  await other.call('POST', path, { body: {} })
  const contacts = await list('contacts')
  await call('DELETE', `/v5/contacts/${contacts[0].id}`)
  expect((await call('GET', path)).body).toMatchObject({ contacts: 29 })
  const { body } = await call('DELETE', path)
  expect(body.deleted).toMatchObject({ contacts: 29, companies: 8 })
  expect((await other.call('GET', path)).body).toEqual(all)
})

test('an organization without a pipeline is filled without deals', async () => {
  for (const { id } of await list('pipelines')) expect((await call('DELETE', `/v5/pipelines/${id}`)).status).toBe(204)
  expect((await fill()).body).toEqual({ ...all, deals: 0 })
})

test('records of release 0.1.0, whose hashes contain no postal address, are still known as examples', () => {
  const address = ['street', 'postalCode']
  const added = { contacts: [...address, 'emails', 'phones'], companies: [...address, 'city', 'state', 'countryCode'] }
  const played = ['done', 'stageId', 'pipelineId', 'lostReason']
  for (const resource of [contacts, companies] as Resource[]) {
    const left = [...played, ...(resource === contacts ? added.contacts : added.companies)]
    const names = Object.keys(resource.fields).filter((name) => resource.fields[name]?.writable && !left.includes(name))
    const values = names.sort().map((name) => (name === 'name' ? 'Ada' : null))
    const hash = createHash('sha256').update(JSON.stringify(values)).digest('hex')
    const now = { name: 'Ada', emails: [], phones: [] }
    expect([resource.name, contentOf(resource, now)]).toEqual([resource.name, hash])
    expect(contentOf(resource, { ...now, street: 'Kai 1' })).not.toBe(hash)
  }
})
