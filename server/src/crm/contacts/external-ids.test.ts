import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const linked = (name: string, externalIds: Record<string, string>, teamId?: string) => ({
  body: { name, externalIds, ...(teamId !== undefined && { teamId }) },
})

async function newTeam({ call }: TestOrganization): Promise<string> {
  return (await call('POST', '/v5/teams', { body: { name: 'Berlin' } })).body.id
}

test('an external id of a provider is unique in a team', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const teamId = await newTeam(organization)
  const { body: first } = await call('POST', '/v5/contacts', linked('Ada', { billing: 'cus_1' }))
  const second = await call('POST', '/v5/contacts', linked('Bob', { support: 'x', billing: 'cus_1' }))
  expect(second).toMatchObject({ status: 409, body: { code: 'already_exists' } })
  expect(second.body.details).toMatchObject([{ field: 'externalIds', id: first.id }])
  for (const options of [
    linked('Another value', { billing: 'cus_2' }),
    linked('Another case', { billing: 'CUS_1' }),
    linked('Another provider', { support: 'cus_1' }),
    linked('Another team', { billing: 'cus_1' }, teamId),
  ]) {
    expect([options.body.name, (await call('POST', '/v5/contacts', options)).status]).toEqual([options.body.name, 201])
  }
  const otherOrganization = await service.newOrganization()
  expect((await otherOrganization.call('POST', '/v5/contacts', linked('Ada', { billing: 'cus_1' }))).status).toBe(201)
})

test('a placeholder is not an external id, and one from before that rule stays', async () => {
  const { call, organizationId } = await service.newOrganization()
  for (const path of ['/v5/contacts', '/v5/companies'])
    for (const id of ['undefined', 'N/A', '0', '{{id}}', '00000000-0000-0000-0000-000000000000']) {
      const { status, body } = await call('POST', path, linked('Ada', { billing: id }))
      expect([path, id, status, body.details?.[0]?.field]).toEqual([path, id, 422, 'externalIds'])
    }
  const { body } = await call('POST', '/v5/contacts', linked('Ada', { support: 's' }))
  await service.database.crossTenantQuery(
    'check the database',
    sql`update contacts set external_ids = '{"billing": "null"}' where organization_id = ${decodeId('org', organizationId)}::uuid`,
  )
  const changed = await call('PATCH', `/v5/contacts/${body.id}`, { body: { externalIds: { support: 't' } } })
  expect([changed.status, changed.body.externalIds]).toEqual([200, { billing: 'null', support: 't' }])
})

test('a conflict names the contact of the same team, not one of another team', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const teamId = await newTeam(organization)
  await call('POST', '/v5/contacts', linked('Elsewhere', { billing: 'cus_1' }))
  const { body: here } = await call('POST', '/v5/contacts', linked('Here', { billing: 'cus_1' }, teamId))
  await call('POST', '/v5/contacts', linked('Elsewhere too', { billing: 'cus_2' }))
  const refused = await call('POST', '/v5/contacts', linked('New', { billing: 'cus_1' }, teamId))
  expect(refused.body.details[0].message).toContain(here.id)
})

test('an external id is free again after it is removed or replaced, or its contact is deleted', async () => {
  const { call } = await service.newOrganization()
  const take = async (value: string) => (await call('POST', '/v5/contacts', linked('Other', { billing: value }))).status
  const { body: contact } = await call('POST', '/v5/contacts', linked('Ada', { billing: 'a', support: 's' }))
  const path = `/v5/contacts/${contact.id}`
  const replaced = await call('PATCH', path, { body: { externalIds: { billing: 'b' } } })
  expect(replaced.body.externalIds).toEqual({ billing: 'b', support: 's' })
  expect(await take('a')).toBe(201)
  expect(await take('b')).toBe(409)
  const removed = await call('PATCH', path, { body: { externalIds: { billing: null } } })
  expect(removed.body.externalIds).toEqual({ support: 's' })
  expect(await take('b')).toBe(201)
  const { body: other } = await call('POST', '/v5/contacts', linked('Bob', { billing: 'c' }))
  await call('DELETE', `/v5/contacts/${other.id}`)
  expect(await take('c')).toBe(201)
  const refused = await call('POST', `/v5/contacts/${other.id}/restore`)
  expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'externalIds' }] } })
  expect((await call('GET', `/v5/contacts/${other.id}`)).status).toBe(404)
})

test('a contact keeps its external ids when a change is rejected', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const teamId = await newTeam(organization)
  await call('POST', '/v5/contacts', linked('Ada', { billing: 'a' }))
  await call('POST', '/v5/contacts', linked('Team’s', { billing: 'b' }, teamId))
  const created = await call('POST', '/v5/contacts', linked('Bob', { billing: 'b' }))
  const path = `/v5/contacts/${created.body.id}`
  expect((await call('PATCH', path, { body: { externalIds: { billing: 'a' } } })).status).toBe(409)
  expect((await call('PATCH', path, { body: { teamId } })).status).toBe(409)
  expect((await call('GET', path)).text).toBe(created.text)
  expect((await call('POST', '/v5/contacts', linked('Eve', { billing: 'b' }))).status).toBe(409)
})

test('external ids move with their contact to another team', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const teamId = await newTeam(organization)
  const { body: contact } = await call('POST', '/v5/contacts', linked('Ada', { billing: 'a' }))
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { teamId } })
  expect((await call('POST', '/v5/contacts', linked('Bob', { billing: 'a' }))).status).toBe(201)
  expect((await call('POST', '/v5/contacts', linked('Eve', { billing: 'a' }, teamId))).status).toBe(409)
})

test('one of several simultaneous requests gets an external id', async () => {
  const { call } = await service.newOrganization()
  for (let round = 0; round < 5; round++) {
    const responses = await Promise.all(
      ['Ada', 'Bob', 'Eve'].map((name) => call('POST', '/v5/contacts', linked(name, { billing: `cus_${round}` }))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  }
})

test.each(['contacts', 'companies'])('the provider names of %s ignore the case of the first letter', async (name) => {
  const { call } = await service.newOrganization()
  const path = `/v5/${name}`
  const { body: created } = await call('POST', path, linked('Ada', { HubSpot: ' h1 ', erp: 'e1' }))
  expect(created.externalIds).toEqual({ hubSpot: 'h1', erp: 'e1' })
  await call('POST', path, linked('Bob', { hubSpot: 'h2' }))
  expect((await call('POST', path, linked('Eve', { hubSpot: 'h1' }))).status).toBe(409)
  for (const spelling of ['HubSpot', 'hubSpot']) {
    const found = await call('GET', `${path}?filter.externalIds.${spelling}.equals=h1`)
    expect(found.body.map(({ id }: { id: string }) => id)).toEqual([created.id])
    const ordered = await call(
      'GET',
      `${path}?orderBy=externalIds.${spelling}&sort=desc&select[]=externalIds.${spelling}`,
    )
    expect(ordered.body).toEqual([{ externalIds: { hubSpot: 'h2' } }, { externalIds: { hubSpot: 'h1' } }])
    const [next] = /(?<=<)[^>]+/.exec(
      (await call('GET', `${path}?orderBy=externalIds.${spelling}&sort=desc&limit=1`)).headers.get('link') ?? '',
    ) ?? ['']
    expect((await call('GET', next.replace(service.url, ''))).body).toMatchObject([{ id: created.id }])
  }
  const one = `${path}/${created.id}`
  expect((await call('GET', `${one}?select=externalIds.HubSpot`)).body).toEqual({ externalIds: { hubSpot: 'h1' } })
  const changed = await call('PATCH', one, { body: { externalIds: { HubSpot: ' h3 ' } } })
  expect(changed.body.externalIds).toEqual({ hubSpot: 'h3', erp: 'e1' })
  const removed = await call('PATCH', one, { body: { externalIds: { HubSpot: null } } })
  expect(removed.body.externalIds).toEqual({ erp: 'e1' })
  for (const externalIds of [
    { HubSpot: 'a', hubSpot: 'b' },
    { HubSpot: 'a', hubSpot: null },
  ]) {
    const refused = await call('PATCH', one, { body: { externalIds } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'externalIds' }] } })
    expect(refused.body.details[0].message).toContain('"HubSpot" and "hubSpot" are the same key')
  }
})

test('the keys of custom properties are case-sensitive', async () => {
  const { call } = await service.newOrganization()
  const { body } = await call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { Plan: 1, plan: 2 } } })
  expect(body.customProperties).toEqual({ Plan: 1, plan: 2 })
})

test.each([
  [{ 'not a name': 'x' }],
  [{ '1st': 'x' }],
  [{ '': 'x' }],
  [{ ['a'.repeat(41)]: 'x' }],
  [{ billing: '' }],
  [{ billing: '  ' }],
  [{ billing: 12 }],
  [{ billing: ['x'] }],
  [{ billing: 'x'.repeat(201) }],
  [Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`provider${index}`, 'x']))],
])('external ids must be strings under valid provider names, unlike %j', async (externalIds) => {
  const { call } = await service.newOrganization()
  const refused = await call('POST', '/v5/contacts', { body: { name: 'Ada', externalIds } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'invalid_field_value' } })
  expect(refused.body.details[0].field).toMatch(/^externalIds/)
  const { body: created } = await call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  expect((await call('PATCH', `/v5/contacts/${created.id}`, { body: { externalIds } })).status).toBe(422)
})
