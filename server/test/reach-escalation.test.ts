import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, mailSettings, startMailedService } from './mailed-service.ts'
import { callAs, newOwner, type TestOwner, type TestPerson } from './people.ts'
import { newRole, personWith } from './reach-fixture.ts'
import { createDatabase } from './postgres.ts'
import { startTestService, type TestService } from './service.ts'

let mailed: MailedService
let another: TestService
let owner: TestOwner
beforeAll(async () => {
  const { connection, drop } = await createDatabase()
  mailed = await startMailedService({}, { connection, drop })
  another = await startTestService(mailSettings(mailed.receiver), { connection, drop: async () => undefined })
  owner = await newOwner(mailed.service)
})
afterAll(async () => {
  await another.close()
  await mailed.close()
})

const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }
const createdBy = async ({ call }: Pick<TestPerson, 'call'>, path: string, body: object) => {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}
const inOrganization = () => ({ 'service-organization-id': owner.organizationId })

test('an API key sees what its creator sees, and nobody gets the wider one of somebody else', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  const contact = await createdBy(owner, '/v5/contacts', { name: 'Out of reach' })
  const key = { name: 'Reads contacts', scopes: ['contact:*:read'] }
  const wide = await createdBy(owner, '/v5/api-keys', key)
  const narrow = await createdBy(person, '/v5/api-keys', key)
  const reads = async (apiKey: string) =>
    (await callAs(mailed.service, apiKey, inOrganization())('GET', `/v5/contacts/${contact.id}`)).status
  expect([await reads(wide.apiKey), await reads(narrow.apiKey)]).toEqual([200, 404])

  const path = `/v5/api-keys/${wide.id}`
  const overlap = { body: { overlapSeconds: 60 } }
  expect(await person.call('POST', `${path}/rotate`, overlap)).toMatchObject(forbidden)
  const extended = { body: { scopes: ['contact:*:read', 'deal:*:read'] } }
  expect(await person.call('PATCH', path, extended)).toMatchObject(forbidden)
  // Their key for keys acts for them.
  const manager = await createdBy(owner, '/v5/api-keys', {
    name: 'Keys',
    scopes: ['api-key:*:write', 'contact:*:read'],
  })
  const managerCall = callAs(mailed.service, manager.apiKey, inOrganization())
  expect((await managerCall('POST', `/v5/api-keys/${narrow.id}/rotate`, overlap)).status).toBe(200)
  expect((await person.call('PATCH', path, { body: { name: 'Renamed' } })).status).toBe(200)
  const rotated = await person.call('POST', `/v5/api-keys/${narrow.id}/rotate`, overlap)
  expect([rotated.status, await reads(rotated.body.apiKey)]).toEqual([200, 404])
})

/** What a contact's reads with this key are answered with, in each process. */
const readsOf = (apiKey: string, contactId: string) => () =>
  Promise.all(
    [mailed.service, another].map(async (service) => {
      const call = callAs(service, apiKey, inOrganization())
      const { body } = await call('GET', '/v5/contacts/count')
      return `${(await call('GET', `/v5/contacts/${contactId}`)).status} of ${body.count > 0 ? 'some' : 'none'}`
    }),
  )
const everywhere = (answer: string) => [answer, answer]
const [seen, hidden] = [everywhere('200 of some'), everywhere('404 of none')]
const readsContacts = { name: 'Reads contacts', scopes: ['contact:*:read'] }

test('a key that was used sees less in every process as soon as the role of its creator is narrowed or exchanged', async () => {
  const contact = await createdBy(owner, '/v5/contacts', { name: 'Out of reach' })
  const [changing, narrow] = [await newRole(owner, 'all'), await newRole(owner, 'own')]
  const person = await personWith(mailed, owner, changing)
  const { apiKey } = await createdBy(person, '/v5/api-keys', readsContacts)
  const reads = readsOf(apiKey, contact.id)
  const change = async (path: string, body: object) => {
    const changed = await owner.call('PATCH', path, { body })
    expect(changed.status, changed.text).toBe(200)
  }
  expect(await reads()).toEqual(seen)
  await change(`/v5/roles/${changing}`, { reach: { contact: 'own' } })
  expect(await reads()).toEqual(hidden)
  await change(`/v5/roles/${changing}`, { reach: { contact: 'all' } })
  expect(await reads()).toEqual(seen)
  await change(`/v5/members/${person.userId}`, { roleId: narrow })
  expect(await reads()).toEqual(hidden)
  await change(`/v5/members/${person.userId}`, { role: 'admin' })
  expect(await reads()).toEqual(seen)
  await change(`/v5/members/${person.userId}`, { roleId: narrow })
  expect(await reads()).toEqual(hidden)
})

test.each(['is removed', 'leaves'])(
  'the keys of a person who %s keep the reach of their role, and follow it',
  async (way) => {
    const contact = await createdBy(owner, '/v5/contacts', { name: 'Out of reach' })
    const role = await newRole(owner, 'own')
    const person = await personWith(mailed, owner, role)
    const keys = [
      await createdBy(person, '/v5/api-keys', readsContacts),
      // No process knows it before its creator has left.
      await createdBy(person, '/v5/api-keys', readsContacts),
    ]
    const [usedBefore, usedAfter] = keys.map(({ apiKey }) => readsOf(apiKey, contact.id))
    expect(await usedBefore?.()).toEqual(hidden)
    const left =
      way === 'leaves'
        ? await person.call('DELETE', `/v5/me/organizations/${owner.organizationId}`)
        : await owner.call('DELETE', `/v5/members/${person.userId}`)
    expect(left.status, left.text).toBe(204)
    for (const [reach, expected] of [
      ['own', hidden],
      ['all', seen],
      ['own', hidden],
    ] as const) {
      const changed = await owner.call('PATCH', `/v5/roles/${role}`, { body: { reach: { contact: reach } } })
      expect(changed.status, changed.text).toBe(200)
      expect([await usedBefore?.(), await usedAfter?.()], reach).toEqual([expected, expected])
    }
    const { token } = await mailed.invite(owner.call, { email: person.email, role: 'admin' })
    expect((await person.call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
    expect([await usedBefore?.(), await usedAfter?.()]).toEqual([seen, seen])
  },
)

test('a person who sees the records of teams cannot add people to a team', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'team'))
  const team = await createdBy(owner, '/v5/teams', { name: 'North' })
  const contact = await createdBy(owner, '/v5/contacts', { name: 'Of the team', teamId: team.id })
  const member = `/v5/teams/${team.id}/members/${person.userId}`
  const sees = async () => (await person.call('GET', `/v5/contacts/${contact.id}`)).status
  expect(await person.call('POST', member)).toMatchObject(forbidden)
  expect(await sees()).toBe(404)
  await owner.call('POST', member)
  expect(await sees()).toBe(200)
  expect(await person.call('POST', `/v5/teams/${team.id}/members/${owner.userId}`)).toMatchObject(forbidden)

  const own = await createdBy(person, '/v5/teams', { name: 'Made by themselves' })
  expect((await person.call('DELETE', `/v5/teams/${own.id}`)).status).toBe(204)
  expect(await person.call('POST', `/v5/teams/${own.id}/restore`)).toMatchObject(forbidden)
  expect((await owner.call('POST', `/v5/teams/${own.id}/restore`)).status).toBe(200)
})

test('changing or deleting a stage changes no deal that the person does not see', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  const pipeline = await createdBy(owner, '/v5/pipelines', { name: 'Renewals' })
  const path = `/v5/pipelines/${pipeline.id}`
  const first = await createdBy(owner, `${path}/stages`, { name: 'First', kind: 'open' })
  const second = await createdBy(owner, `${path}/stages`, { name: 'Second', kind: 'open' })
  const own = await createdBy(person, '/v5/deals', { name: 'Mine', stageId: first.id })
  const hidden = await createdBy(owner, '/v5/deals', { name: 'Hidden', stageId: first.id })
  const stage = `${path}/stages/${first.id}`
  for (const refused of [
    await person.call('DELETE', `${stage}?moveDealsTo=${second.id}`),
    await person.call('DELETE', stage),
    await person.call('PATCH', stage, { body: { kind: 'won' } }),
    await person.call('DELETE', path),
  ]) {
    expect(refused).toMatchObject(forbidden)
    expect(refused.text).not.toMatch(/\d+ deals|: \d/)
  }
  expect((await owner.call('GET', `/v5/deals/${hidden.id}`)).body).toMatchObject({ stageId: first.id, status: 'open' })
  await owner.call('PATCH', `/v5/deals/${hidden.id}`, { body: { ownerId: person.userId } })
  expect((await person.call('DELETE', `${stage}?moveDealsTo=${second.id}`)).status).toBe(204)
  expect((await person.call('GET', `/v5/deals/${own.id}`)).body.stageId).toBe(second.id)
})

test('a person who does not see all contacts cannot push to an import', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  const existing = await createdBy(owner, '/v5/imports', { name: 'Website' })
  expect(await person.call('POST', '/v5/imports', { body: { name: 'Mine' } })).toMatchObject(forbidden)
  const body = { overlapSeconds: 60 }
  expect(await person.call('POST', `/v5/imports/${existing.id}/rotate`, { body })).toMatchObject(forbidden)
  const row = `/v5/imports/${existing.id}/rows/row_${'0'.repeat(32)}`
  const payload = { contact: { email: 'out-of-reach@example.com' } }
  expect(await person.call('PATCH', row, { body: { payload } })).toMatchObject(forbidden)
})

test('a person who does not see all contacts cannot change how an import treats them, and may only stop it', async () => {
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  const path = `/v5/imports/${(await createdBy(owner, '/v5/imports', { name: 'Shop' })).id}`
  for (const body of [{ mergePolicy: 'overwrite' }, { notesMayOptOut: false }, { tags: ['any'] }, { name: 'Mine' }])
    expect(await person.call('PATCH', path, { body })).toMatchObject(forbidden)
  expect((await owner.call('GET', path)).body).toMatchObject({ mergePolicy: 'fill', name: 'Shop' })
  expect((await person.call('POST', `${path}/disable`)).status).toBe(200)
  expect(await person.call('POST', `${path}/enable`)).toMatchObject(forbidden)
  expect((await owner.call('GET', path)).body.disabledAt).not.toBeNull()
  expect((await person.call('DELETE', path)).status).toBe(204)
  expect(await person.call('POST', `${path}/restore`)).toMatchObject(forbidden)
  expect((await owner.call('POST', `${path}/restore`)).status).toBe(200)
})

test('what a person sees changes with the next request in every process, and between pages', async () => {
  const roleId = await newRole(owner, 'own')
  const person = await personWith(mailed, owner, roleId)
  const contacts = []
  for (const name of ['First', 'Second', 'Third']) contacts.push(await createdBy(person, '/v5/contacts', { name }))
  const calls = [person.call, callAs(another, person.accessToken)]
  const idsOf = async (call: TestPerson['call'], path: string) =>
    (await call('GET', path)).body.map(({ id }: { id: string }) => id)
  const all = contacts.map(({ id }) => id)
  const path = '/v5/contacts?orderBy=createdAt&sort=asc'
  for (const call of calls) expect(await idsOf(call, path)).toEqual(all)
  const page = await person.call('GET', `${path}&limit=1`)
  const next = new URL(/<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? '')
  await owner.call('PATCH', `/v5/contacts/${all[1]}`, { body: { ownerId: owner.userId } })
  for (const call of calls) {
    expect(await idsOf(call, path)).toEqual([all[0], all[2]])
    expect(await idsOf(call, `${next.pathname}${next.search}`)).toEqual([all[2]])
    expect((await call('GET', `${path}&startingAfter=${all[1]}`)).status).toBe(404)
  }
  await owner.call('PATCH', `/v5/roles/${roleId}`, { body: { reach: { contact: 'all' } } })
  for (const call of calls) expect((await call('GET', `/v5/contacts/${all[1]}`)).status).toBe(200)
  await owner.call('PATCH', `/v5/roles/${roleId}`, { body: { reach: { contact: 'own' }, scopes: ['contact:*:read'] } })
  for (const call of calls) {
    expect((await call('GET', `/v5/contacts/${all[1]}`)).status).toBe(404)
    expect((await call('PATCH', `/v5/contacts/${all[0]}`, { body: { name: 'No' } })).status).toBe(403)
  }
})
