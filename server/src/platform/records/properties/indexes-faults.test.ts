import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type MailedService, startMailedService } from '../../../../test/mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from '../../../../test/people.ts'
import { type Probe, type Statements, watchStatements } from '../../../../test/planted-faults.ts'
import { newRole, personWith } from '../../../../test/reach-fixture.ts'
import type { Json, TestOrganization, TestService } from '../../../../test/service.ts'
import { contactStore } from '../../../crm/contacts/store.ts'
import { serviceActor } from '../../model/caller.ts'
import { decodeId } from '../../model/ids.ts'
import { type Sql, sql } from '../../model/sql.ts'

let mailed: MailedService
let service: TestService
let owner: TestOwner
let ours: TestOrganization
/** Owns every second record with a value, and all records without one. */
let person: TestPerson
let roleId: string
let statements: Statements
const query = (statement: Sql) => service.database.crossTenantQuery<object>('check the database', statement)

/** More than a page scans in order before it reads the entries. */
const others = 2010

/** Another organization has entries with the same ids, which only the organization distinguishes. */
beforeAll(async () => {
  mailed = await startMailedService()
  service = mailed.service
  owner = await newOwner(service)
  ours = owner.organization
  roleId = await newRole(owner, 'own')
  person = await personWith(mailed, owner, roleId)
  const theirs = await service.newOrganization()
  const made: string[] = []
  for (const key of ['score', 'rank']) {
    const body = { resource: 'contacts', key, type: 'number', label: key, indexed: true }
    made.push((await ours.call('POST', '/v5/properties', { body })).body.id)
  }
  for (let score = 0; score < 9; score++)
    await ours.call('POST', '/v5/contacts', {
      body: {
        name: 'Ada',
        ownerId: score % 2 === 0 ? person.userId : null,
        customProperties: { score, rank: score % 3 },
      },
    })
  const actor = serviceActor('command', decodeId('org', ours.organizationId) ?? '')
  for (let created = 0; created < others; created += 201) {
    const changes = Array.from({ length: 201 }, () => ({
      kind: 'create' as const,
      values: { name: 'Bob', ownerId: person.userId },
    }))
    await service.database.transaction(actor, (transaction) => contactStore.write(transaction, changes))
  }
  const states = () =>
    Promise.all(made.map(async (id) => (await ours.call('GET', `/v5/properties/${id}`)).body.indexState))
  await vi.waitFor(async () => expect(await states()).toEqual(['ready', 'ready']), { timeout: 20_000 })
  const [own, other] = [ours, theirs].map(({ organizationId }) => decodeId('org', organizationId))
  await query(sql`insert into property_entries
    select ${other}::uuid, record_id, index_id, value_hash, number, text, created_at from property_entries
    where organization_id = ${own}::uuid`)
  statements = watchStatements()
})
afterAll(async () => {
  statements.restore()
  await mailed.close()
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

test.each(['own', 'team'])(
  'a person who sees the records at the level "%s" gets and counts exactly those that match',
  async (level) => {
    const changed = await owner.call('PATCH', `/v5/roles/${roleId}`, { body: { reach: { contact: level } } })
    expect(changed.status, changed.text).toBe(200)
    const isSeen = ({ ownerId }: Json) => ownerId === person.userId
    let hidden = 0
    for (const path of paths) {
      const [kind = '', filters = ''] = path.split('?')
      const all: Json[] = (await ours.call('GET', `/v5/contacts?limit=100&${filters}`)).body
      const expected = all.filter(isSeen)
      hidden += all.length - expected.length
      const { body } = await person.call(
        'GET',
        `/v5/contacts${kind}?limit=100&${filters}`.replace('count?limit=100&', 'count?'),
      )
      if (kind === '/count') expect(body, path).toEqual({ count: expected.length })
      // After a full page of the owner, only records without a value follow.
      else expect(body.slice(0, all.length < 100 ? undefined : expected.length), path).toEqual(expected)
      if (kind === '' && all.length < 100) expect(await pagesOf(`${path}&limit=1`), path).toEqual(expected)
    }
    expect(hidden).toBeGreaterThan(paths.length)
  },
)

/** The records of all pages of the person. */
async function pagesOf(path: string): Promise<Json[]> {
  const found: Json[] = []
  for (let next: string | undefined = `/v5/contacts${path}`; next !== undefined;) {
    const { body, headers } = await person.call('GET', next)
    found.push(...body)
    next = /<[^>]*?(\/v5[^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
  }
  return found
}
