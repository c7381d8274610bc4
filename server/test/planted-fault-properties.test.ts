import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../src/platform/model/ids.ts'
import { sql } from '../src/platform/model/sql.ts'
import { type Probe, watchStatements } from './planted-faults.ts'
import { type Json, startTestService, type TestOrganization, type TestService, withoutBackground } from './service.ts'

let service: TestService
let ours: TestOrganization
let theirs: TestOrganization
/** Ids of our records, by purpose. */
const ids: Record<string, string> = {}

const definition = (key: string, more: Json = {}) => ({ resource: 'companies', key, type: 'text', label: key, ...more })
const choices = ['a', 'b'].map((value) => ({ value, label: value }))

beforeAll(async () => {
  service = await startTestService(withoutBackground)
  // The other organization is created first, so that a query without the predicate finds its rows first.
  theirs = await service.newOrganization()
  ours = await service.newOrganization()
  const values = { vat: 'X', later: 'text', plan: 'a', same: 'twice', fresh: 'text' }
  const made: string[] = []
  for (const { call } of [theirs, theirs, theirs]) {
    const { body } = await call('POST', '/v5/companies', {
      body: { name: 'Theirs', customProperties: { ...values, vat: Math.random().toString() } },
    })
    made.push(body.id)
  }
  await theirs.call('DELETE', `/v5/companies/${made[0]}`)
  // Changed after each of our requests begins.
  await service.database.crossTenantQuery(
    'check the database',
    sql`update companies set updated_at = now() + interval '1 day', deleted_at = deleted_at + interval '1 day'
      where id = any(${made.map((id) => decodeId('com', id))}::uuid[])`,
  )
  const shared = [definition('vat', { unique: true }), definition('plan', { type: 'choice', choices })]
  const more = [definition('only', { required: true }), definition('taken', { position: '50' })]
  for (const [organization, bodies] of [
    [theirs, [...shared, ...more]],
    [ours, shared],
  ] as const) {
    for (const body of bodies) {
      const made = await organization.call('POST', '/v5/properties', { body })
      expect(made.status, made.text).toBe(201)
      if (organization === ours) ids[body.key] = made.body.id
    }
  }
  // Ours knows nothing about properties of deals.
  await theirs.call('PATCH', '/v5/properties/undeclared', { body: { companies: 'refused', deals: 'refused' } })
  for (const name of ['holder', 'deleted']) {
    const body = { name, customProperties: { vat: name, later: 1 } }
    ids[name] = (await ours.call('POST', '/v5/companies', { body })).body.id
  }
  await ours.call('DELETE', `/v5/companies/${ids.deleted}`)
  const old = await ours.call('POST', '/v5/properties', { body: definition('old') })
  ids.old = old.body.id
  await ours.call('DELETE', `/v5/properties/${ids.old}`)
})
afterAll(() => service.close())

/** What the tables contain, apart from the ids of new rows. */
const inspection = `select
  (select string_agg(md5(row(o.*)::text), ' ' order by md5(row(o.*)::text)) from company_unique_values o
    join companies c on c.organization_id = o.organization_id and c.id = o.company_id and c.name = 'Theirs') as theirs,
  (select count(*) from company_unique_values) as unique_values,
  (select string_agg(concat_ws(' ', organization_id, resource, revision, refuses_undeclared,
    jsonb_path_query_array(definitions, '$[*].key')), ' ' order by organization_id, resource) from property_sets) as sets`

/** Other statements are covered by planted-fault.test.ts. */
const aboutProperties = /property_sets|unique_values|from properties |custom_properties -> \$/

/** Predicates that can be removed without an effect, each with the rule that protects the data instead. */
const redundantPredicates: readonly { reason: string; location: RegExp }[] = [
  { reason: 'the rows are only locked', location: /select from property_sets where $/ },
  {
    reason:
      'the statement compares a revision: rules.test.ts, “no record is written with former definitions by another process”',
    location: /current_set as materialized \( select revision from property_sets where $/,
  },
  {
    reason: 'the ids are those of our property, or of the records that the statements before have written',
    location:
      /(delete from "company_unique_values"|as id from "company_unique_values") where $|'null'\) <> 'null' where record\.$/,
  },
]

test(
  'removing an organization predicate from a statement about properties changes a result',
  { timeout: 120_000 },
  async () => {
    const statements = watchStatements()
    const probe = (method: string, path: string, body?: Json): Probe => ({
      description: `${method} ${path.replace(/\w+_[0-9a-f]{32}/, '{id}')} ${JSON.stringify(body)}`,
      observe: async () => {
        const response = await ours.call(method, path, body === undefined ? {} : { body })
        const { position, customProperties, code, resources, ...undeclared } = response.body ?? {}
        const schema = resources && resources.map(({ properties }: Json) => properties?.map(({ key }: Json) => key))
        const shown = path.endsWith('undeclared') ? undeclared : { position, customProperties, code, schema }
        return `${response.status} ${JSON.stringify(shown)} ${statements.transactionResults()}`
      },
    })
    const company = `/v5/companies/${ids.holder}`
    const probes = [
      probe('POST', '/v5/companies', { name: 'New', customProperties: { vat: 'Y' } }),
      probe('POST', '/v5/companies', { name: 'New', customProperties: { vat: 'holder' } }),
      probe('PATCH', company, { customProperties: { vat: 'Z', other: 1 } }),
      probe('DELETE', company),
      probe('POST', `/v5/companies/${ids.deleted}/restore`),
      probe('POST', '/v5/properties', definition('later', { type: 'number', unique: true })),
      probe('POST', '/v5/properties', definition('fresh', { type: 'number' })),
      probe('POST', '/v5/properties?dryRun=true', definition('same', { unique: true })),
      probe('POST', '/v5/properties', definition('taken')),
      probe('PATCH', `/v5/properties/${ids.plan}`, { choices: [choices[1]] }),
      probe('PATCH', `/v5/properties/${ids.vat}`, { unique: false }),
      probe('DELETE', `/v5/properties/${ids.vat}`),
      probe('POST', `/v5/properties/${ids.old}/restore`),
      probe('PATCH', '/v5/properties/undeclared', { companies: 'refused' }),
      probe('GET', '/v5/properties/undeclared'),
      probe('GET', '/v5/schema'),
      probe('GET', '/v5/companies?filter.customProperties.plan.in=a,b'),
    ]
    try {
      const { missed, detected } = await statements.plant(probes, inspection)
      // What one request detects, no other one has to.
      const placesOf = (locations: readonly string[]) =>
        new Set(
          locations
            .map((location) => probes.reduce((text, { description }) => text.replace(description, ''), location))
            .filter((place) => aboutProperties.test(place)),
        )
      const places = placesOf(detected)
      expect(places.size).toBeGreaterThan(7)
      const undetected = [...placesOf(missed)].filter((place) => !places.has(place))
      expect(undetected.filter((place) => !redundantPredicates.some((one) => one.location.test(place)))).toEqual([])
    } finally {
      statements.restore()
    }
  },
)
