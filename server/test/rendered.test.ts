import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources } from '../src/app.ts'
import { commandActor } from '../src/platform/access/command-actor.ts'
import { identifier, raw, sql } from '../src/platform/database/sql.ts'
import { composed, documentSql, isRendered } from '../src/platform/query/select.ts'
import { joins, root } from '../src/platform/query/target.ts'
import { readId } from '../src/platform/resource/ids.ts'
import { contacts } from '../src/resources/contacts/resource.ts'
import { contactStore } from '../src/resources/contacts/store.ts'
import { contactBodies } from './list-arbitraries.ts'
import { fullBody } from './samples.ts'
import { seed } from './seed.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const rendered = resources.filter((resource) => resource.rendered !== undefined)
const actor = () => commandActor(readId('org', organization.organizationId) ?? '', organization.userId)

/** Each contact, as its stored text says and as its columns say. */
const shown = () =>
  service.database.transaction(actor(), (transaction) =>
    transaction.query<{ stored: string; composed: string }>(sql`
      select ${documentSql(contacts)} as stored, ${composed(contacts)} as composed
      from ${identifier(contacts.table)} ${raw(root)}${joins(contacts, transaction.organization)}
      where ${raw(root)}.organization_id = ${transaction.organization}`),
  )

test('contacts are stored rendered, and nothing else is', () => {
  expect(rendered.map(({ name }) => name)).toEqual(['contacts'])
})

test('what other records decide stands behind all that is stored, so that the text can be completed', () => {
  for (const resource of rendered) {
    const inOrder = resource.members.map((name) => isRendered(resource, name))
    expect(inOrder).toEqual([...inOrder].sort((one, other) => Number(other) - Number(one)))
  }
})

test('the stored text of any contact says what its columns say, member by member and in their order', async () => {
  const { call } = organization
  const [kept, deleted] = await Promise.all(
    ['kept "Ltd"\\', 'deleted'].map(async (name) => (await call('POST', '/v5/companies', { body: { name } })).body.id),
  )
  const [drawn = []] = fc.sample(contactBodies(150, [kept, deleted]), { seed, numRuns: 1 })
  const references = { com: [kept, deleted], tea: [organization.teamId], usr: [organization.userId] }
  const bodies = [fullBody(contacts, 1, references), { name: 'nothing else' }, ...drawn]
  await service.database.transaction(actor(), (transaction) =>
    contactStore.write(
      transaction,
      bodies.map((values) => ({ kind: 'create', values })),
    ),
  )
  await call('DELETE', `/v5/companies/${deleted}`)
  const [first] = (await call('GET', '/v5/contacts?limit=1')).body
  await call('PATCH', `/v5/contacts/${first.id}`, { body: { bio: 'written again\n"\u{1f600}"', tags: ['a"b'] } })
  const rows = await shown()
  expect(rows).toHaveLength(bodies.length)
  for (const { stored, composed: told } of rows) {
    expect(Object.entries(JSON.parse(stored))).toEqual(Object.entries(JSON.parse(told)))
  }
  const companies = rows.map(({ stored }) => JSON.parse(stored).company)
  expect(companies).toContainEqual({ id: kept, name: 'kept "Ltd"\\', domain: null })
  expect(companies.filter((company) => company?.id === deleted)).toEqual([])
})
