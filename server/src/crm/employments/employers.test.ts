import { afterAll, beforeAll, expect, test } from 'vitest'
import { maintain } from '../../../test/inbox-fixture.ts'
import { startMailedService } from '../../../test/mailed-service.ts'
import { newOwner } from '../../../test/people.ts'
import { newRole, personWith } from '../../../test/reach-fixture.ts'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'

let service: TestService
let call: Call
const ids: Record<string, string> = {}
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
  for (const name of ['Engines', 'Looms', 'Empty']) ids[name] = await create('/v5/companies', { name })
  for (const name of ['Ada', 'Bob', 'Cyd']) ids[name] = await create('/v5/contacts', { name })
  await create(jobsOf('Ada'), { organization: 'Engines Ltd', title: 'Analyst', current: true, companyId: ids.Engines })
  await create(jobsOf('Ada'), { organization: 'Looms', end: '2019-03', companyId: ids.Looms })
  await create(jobsOf('Bob'), { organization: 'Looms', title: 'Weaver', companyId: ids.Looms })
  await create(jobsOf('Cyd'), { organization: 'Looms' })
})
afterAll(() => service.close())

const jobsOf = (name: string) => `/v5/contacts/${ids[name]}/employments`

async function create(path: string, body: object): Promise<string> {
  const created = await call('POST', path, { body })
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id
}

async function found(path: string, filter: object): Promise<string[]> {
  const { body } = await call('POST', `/v5/${path}/search`, { body: { filter, orderBy: 'name', sort: 'asc' } })
  return body.map(({ name }: Json) => name)
}

test('an employment shows its company, and all employments are found by it', async () => {
  const list = async (query: string) => (await call('GET', `/v5/employments?${query}`)).body
  const atLooms = await list(`filter.companyId.equals=${ids.Looms}`)
  expect(atLooms.map(({ contactId }: Json) => contactId)).toEqual([ids.Bob, ids.Ada])
  expect(atLooms[0]).toMatchObject({ companyId: ids.Looms, company: { id: ids.Looms, name: 'Looms', domain: null } })
  expect(await list('filter.companyId.equals=null&select[]=company&select[]=organization')).toEqual([
    { organization: 'Looms', company: null },
  ])
  expect((await list('orderBy=company&sort=asc&filter.company.name.startsWith=e')).length).toBe(1)
  expect((await call('GET', `/v5/employments/count?companyId=${ids.Looms}`)).body).toEqual({ count: 2 })
  expect((await call('GET', `/v5/employments/${atLooms[0].id}`)).body).toEqual(atLooms[0])
})

test('only a company of the organization can be named, and null clears it', async () => {
  const other = await service.newOrganization()
  const { body: theirs } = await other.call('POST', '/v5/companies', { body: { name: 'Other' } })
  for (const companyId of [theirs.id, `com_${'0'.repeat(32)}`]) {
    const refused = await call('POST', jobsOf('Cyd'), { body: { organization: 'Other', companyId } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'companyId' }] } })
  }
  const id = await create(jobsOf('Cyd'), { organization: 'Empty', companyId: ids.Empty })
  const cleared = await call('PATCH', `${jobsOf('Cyd')}/${id}`, { body: { companyId: null } })
  expect(cleared.body).toMatchObject({ companyId: null, company: null })
  await call('DELETE', `${jobsOf('Cyd')}/${id}`)
})

test('filters lead from contacts to their employers and from companies to their employees', async () => {
  expect(await found('contacts', { employers: { some: { name: { equals: 'Looms' } } } })).toEqual(['Ada', 'Bob'])
  expect(await found('contacts', { employers: { none: {} } })).toEqual(['Cyd'])
  expect(await found('companies', { employees: { some: { name: { equals: 'Ada' } } } })).toEqual(['Engines', 'Looms'])
  expect(await found('companies', { employees: { none: {} } })).toEqual(['Empty'])
  const colleagues = { employers: { some: { employees: { some: { name: { equals: 'Ada' } } } } } }
  expect(await found('contacts', colleagues)).toEqual(['Ada', 'Bob'])
  const now = { employments: { some: { current: { equals: true }, company: { some: { name: { contains: 'eng' } } } } } }
  expect(await found('contacts', now)).toEqual(['Ada'])
  const weavers = { employments: { some: { title: { equals: 'Weaver' }, contact: { some: {} } } } }
  expect(await found('companies', weavers)).toEqual(['Looms'])
  const filter = { company: { some: { employees: { none: { name: { equals: 'Bob' } } } } } }
  const { body } = await call('POST', '/v5/employments/search', { body: { filter } })
  expect(body.map(({ organization }: Json) => organization)).toEqual(['Engines Ltd'])
})

test('a deleted company reads as null until it is restored, and a deleted employment leads nowhere', async () => {
  const companyId = await create('/v5/companies', { name: 'Closed' })
  const id = await create(jobsOf('Cyd'), { organization: 'Closed', companyId })
  const one = `${jobsOf('Cyd')}/${id}`
  await call('DELETE', `/v5/companies/${companyId}`)
  expect((await call('GET', one)).body).toMatchObject({ companyId: null, company: null })
  expect(await found('contacts', { employers: { some: { name: { equals: 'Closed' } } } })).toEqual([])
  await call('POST', `/v5/companies/${companyId}/restore`)
  expect((await call('GET', one)).body).toMatchObject({ companyId, company: { name: 'Closed' } })
  await call('DELETE', one)
  expect(await found('companies', { employees: { some: { name: { equals: 'Cyd' } } } })).toEqual([])
  await call('DELETE', `/v5/companies/${companyId}`)
})

test('the feed says to which company an employment belongs', async () => {
  const { body: before } = await call('GET', '/v5/events/position')
  const id = await create(jobsOf('Cyd'), { organization: 'Empty' })
  await call('PATCH', `${jobsOf('Cyd')}/${id}`, { body: { companyId: ids.Empty } })
  const { body } = await call('GET', `/v5/events?after=${before.position}&resource=employment`)
  expect(body.events).toMatchObject([
    { kind: 'created', values: { companyId: null } },
    { kind: 'updated', changes: [{ field: 'companyId', before: null, after: ids.Empty }] },
  ])
  await call('DELETE', `${jobsOf('Cyd')}/${id}`)
})

test('a person who sees only their own records neither sees nor names the companies of others', async () => {
  const mailed = await startMailedService()
  try {
    const owner = await newOwner(mailed.service)
    const person = await personWith(mailed, owner, await newRole(owner, 'own'))
    const made = async (path: string, body: object, by = owner.call) => (await by('POST', path, { body })).body
    const secret = await made('/v5/companies', { name: 'Secret' })
    const hidden = await made('/v5/contacts', { name: 'Hidden' })
    const shown = await made('/v5/contacts', { name: 'Shown', ownerId: person.userId })
    const own = await made('/v5/companies', { name: 'Own', ownerId: person.userId })
    const job = await made(`/v5/contacts/${shown.id}/employments`, { organization: 'S', companyId: secret.id })
    await made(`/v5/contacts/${hidden.id}/employments`, { organization: 'O', companyId: own.id })
    const { body: jobs } = await person.call('GET', '/v5/employments')
    expect(jobs).toMatchObject([{ id: job.id, companyId: null, company: null }])
    const body = { organization: 'Secret', companyId: secret.id }
    expect((await person.call('POST', `/v5/contacts/${shown.id}/employments`, { body })).status).toBe(422)
    const search = async (path: string, filter: object) =>
      (await person.call('POST', `/v5/${path}/search`, { body: { filter } })).body
    expect(await search('contacts', { employers: { some: {} } })).toEqual([])
    expect(await search('companies', { employees: { some: {} } })).toEqual([])
    expect((await person.call('GET', `/v5/employments/count?companyId=${own.id}`)).body).toEqual({ count: 0 })
  } finally {
    await mailed.close()
  }
})

test('the purge of a company releases its employments, and the feed says so', async () => {
  const companyId = await create('/v5/companies', { name: 'Gone' })
  const id = await create(jobsOf('Cyd'), { organization: 'Gone', companyId })
  await call('DELETE', `/v5/companies/${companyId}`)
  const uuid = decodeId('com', companyId)
  const query = (statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery<{ company_id: string | null }>('check the database', statement)
  await query(sql`update companies set deleted_at = now() - interval '40 days' where id = ${uuid}::uuid`)
  await maintain(service)
  const [row] = await query(sql`select company_id from employments where id = ${decodeId('emp', id)}::uuid`)
  expect(row?.company_id).toBeNull()
})
