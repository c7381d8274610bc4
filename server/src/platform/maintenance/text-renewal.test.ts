import { afterAll, beforeAll, expect, test } from 'vitest'
import { readId } from '../model/ids.ts'
import { raw, sql } from '../model/sql.ts'
import { areTextsRenewed } from '../resource/text-renewal.ts'
import { renewAllTexts } from './maintenance.ts'
import { resourcesWithTexts } from '../../app.ts'
import { findOrganizationIds } from '../../identity/organizations/store.ts'
import { startTestService, type TestOrganization, type TestService, withoutBackground } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let organizationId: string
beforeAll(async () => {
  // Without maintenance of its own, which would do the same meanwhile.
  service = await startTestService(withoutBackground)
  organization = await service.newOrganization()
  organizationId = readId('org', organization.organizationId) ?? ''
})
afterAll(() => service.close())

const execute = (statement: Parameters<typeof service.database.crossTenantQuery>[1]) =>
  service.database.crossTenantQuery<Record<string, string>>('check the database', statement)
const call = (method: string, path: string, body?: unknown) => organization.call(method, path, { body })
const names = async (path: string): Promise<string[]> =>
  ((await call('GET', path)).body as { name: string }[]).map(({ name }) => name)
const decomposed = (text: string) => text.normalize('NFD')

/** Runs the step of maintenance as at the first start of this release. */
async function renew(): Promise<void> {
  await execute(sql`delete from text_renewals where organization_id = ${organizationId}::uuid`)
  await renewAllTexts(
    {
      database: service.database,
      renewed: resourcesWithTexts,
      organizations: (after, limit) => findOrganizationIds(service.database, after, limit),
    },
    new AbortController().signal,
  )
}

test('text that an earlier release stored decomposed is composed, found by filters, and its ids stay unique', async () => {
  const { body: company } = await call('POST', '/v5/companies', { name: 'Café Zürich', tags: ['schön'] })
  const { body: contact } = await call('POST', '/v5/contacts', {
    name: 'Zoë Müller',
    externalIds: { crm: 'é-1' },
    customProperties: { note: 'Größe' },
  })
  const id = readId('con', contact.id) ?? ''
  await execute(sql`update companies set name = ${decomposed('Café Zürich')}, tags = array[${decomposed('schön')}]
    where organization_id = ${organizationId}::uuid`)
  await execute(sql`update contacts set name = ${decomposed('Zoë Müller')}, external_ids = ${JSON.stringify({ crm: decomposed('é-1') })}::jsonb,
    custom_properties = ${JSON.stringify({ note: decomposed('Größe') })}::jsonb where organization_id = ${organizationId}::uuid`)
  await execute(sql`update contact_external_ids set value = ${decomposed('é-1')}
    where organization_id = ${organizationId}::uuid and contact_id = ${id}::uuid`)
  const filters = [
    'name.equals=Zo%C3%AB%20M%C3%BCller',
    'customProperties.note.equals=Gr%C3%B6%C3%9Fe',
    'externalIds.crm.equals=%C3%A9-1',
  ]
  expect(await names(`/v5/contacts?filter.${filters[0]}`)).toEqual([])
  await renew()
  for (const filter of filters) expect(await names(`/v5/contacts?filter.${filter}`)).toEqual(['Zoë Müller'])
  expect(await names('/v5/companies?filter.tags.has=sch%C3%B6n')).toEqual(['Café Zürich'])
  const [stored] = await execute(
    sql`select octet_length(name) as length from companies where id = ${readId('com', company.id) ?? ''}::uuid`,
  )
  expect(Number(stored?.length)).toBe(Buffer.byteLength('Café Zürich'))
  expect((await call('POST', '/v5/contacts', { name: 'Other', externalIds: { crm: 'é-1' } })).status).toBe(409)
  expect(await areTextsRenewed(service.database, organizationId)).toBe(true)
})

test('what was folded by an earlier release is folded again', async () => {
  await call('POST', '/v5/contacts', { name: 'Sinéad O’Brien' })
  const fold = await execute(sql`select pg_get_functiondef('fold(text)'::regprocedure) as source`)
  try {
    // A folding that keeps apostrophes, as before.
    await execute(sql`create or replace function fold(value text) returns text language plpgsql immutable strict parallel safe as
      $$ begin return lower(value); end $$`)
    await execute(sql`update contacts set name = name where organization_id = ${organizationId}::uuid`)
  } finally {
    await execute(raw(fold[0]?.source ?? ''))
  }
  expect(await names("/v5/contacts?query=o'brien")).toEqual([])
  await renew()
  expect(await names("/v5/contacts?query=o'brien")).toEqual(['Sinéad O’Brien'])
})

test('a value of a unique property with spaces around it is the same as one without', async () => {
  const property = { resource: 'contacts', key: 'vat', type: 'text', label: 'VAT', unique: true }
  expect((await call('POST', '/v5/properties', property)).status).toBe(201)
  const { body } = await call('POST', '/v5/contacts', { name: 'One', customProperties: { vat: 'DE1' } })
  expect((await call('POST', '/v5/contacts', { name: 'Two', customProperties: { vat: 'DE1 ' } })).status).toBe(409)
  // Stored by an earlier release, with the hash of that time.
  await execute(
    sql`update contacts set custom_properties = '{"vat":"DE1 "}' where id = ${readId('con', body.id) ?? ''}::uuid`,
  )
  await execute(
    sql`update contact_unique_values set value = sha256('DE1 ') where organization_id = ${organizationId}::uuid`,
  )
  await renew()
  expect((await call('POST', '/v5/contacts', { name: 'Two', customProperties: { vat: 'DE1' } })).status).toBe(409)
})

test('a domain that an earlier release stored with www is found', async () => {
  const { body } = await call('POST', '/v5/companies', { name: 'Looms', domain: 'looms.example' })
  await execute(sql`update companies set domain = 'www.looms.example' where id = ${readId('com', body.id) ?? ''}::uuid`)
  await renew()
  expect(await names('/v5/companies?filter.domain.equals=www.looms.example')).toEqual(['Looms'])
})
