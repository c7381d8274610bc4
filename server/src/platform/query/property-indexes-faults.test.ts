import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Probe, type Statements, watchStatements } from '../../../test/planted-faults.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { contactStore } from '../../resources/contacts/store.ts'
import { serviceActor } from '../model/caller.ts'
import { readId } from '../model/ids.ts'
import { type Sql, sql } from '../model/sql.ts'

let service: TestService
let ours: TestOrganization
let statements: Statements
const query = (statement: Sql) => service.database.crossTenantQuery<object>('check the database', statement)

/** More than a page scans in order before it reads the entries. */
const others = 2010

/** Another organization has entries with the same ids, which only the organization distinguishes. */
beforeAll(async () => {
  service = await startTestService()
  ours = await service.newOrganization()
  const theirs = await service.newOrganization()
  const made: string[] = []
  for (const key of ['score', 'rank']) {
    const body = { resource: 'contacts', key, type: 'number', label: key, indexed: true }
    made.push((await ours.call('POST', '/v5/properties', { body })).body.id)
  }
  for (let score = 0; score < 9; score++)
    await ours.call('POST', '/v5/contacts', { body: { name: 'Ada', customProperties: { score, rank: score % 3 } } })
  const actor = serviceActor('command', readId('org', ours.organizationId) ?? '')
  for (let created = 0; created < others; created += 201) {
    const changes = Array.from({ length: 201 }, () => ({ kind: 'create' as const, values: { name: 'Bob' } }))
    await service.database.transaction(actor, (transaction) => contactStore.write(transaction, changes))
  }
  const states = () =>
    Promise.all(made.map(async (id) => (await ours.call('GET', `/v5/properties/${id}`)).body.indexState))
  await vi.waitFor(async () => expect(await states()).toEqual(['ready', 'ready']), { timeout: 20_000 })
  const [own, other] = [ours, theirs].map(({ organizationId }) => readId('org', organizationId))
  await query(sql`insert into property_entries
    select ${other}::uuid, record_id, index_id, value_hash, number, text, created_at from property_entries
    where organization_id = ${own}::uuid`)
  statements = watchStatements()
})
afterAll(async () => {
  statements.restore()
  await service.close()
})

const paths = [
  '?customProperties.score=5',
  '?filter.customProperties.score.gte=5',
  '?filter.customProperties.score.gte=5&filter.customProperties.rank.equals=2',
  '?filter.customProperties.score.in=5,6&orderBy=name',
  '?filter.customProperties.rank.equals=2&orderBy=name',
  '?orderBy=customProperties.score&sort=asc',
  '?orderBy=customProperties.score&filter.customProperties.rank.equals=2',
  '/count?customProperties.rank=2',
  '/count?filter.customProperties.score.gte=5',
  '/count?filter.customProperties.score.gte=5&filter.city.equals=null',
]

test('each organization predicate of entries is necessary: without it, another organization’s entries appear', async () => {
  const probes = paths.map((path): Probe => ({
    description: path,
    observe: async () => {
      const { status, text } = await ours.call('GET', `/v5/contacts${path}`)
      return `${status} ${text}`
    },
  }))
  const { missed, detected } = await statements.plant(probes)
  const ofEntries = (location: string) => /(entry|entry_1)\.$/.test(location)
  expect(detected.filter(ofEntries).length).toBeGreaterThan(8)
  expect(missed.filter(ofEntries)).toEqual([])
}, 60_000)
