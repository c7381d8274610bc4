import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../src/platform/model/caller.ts'
import { sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { processClaim } from '../src/intake/work/batch.ts'
import { type Claim, claimRows } from '../src/intake/work/work-store.ts'
import { createFixture } from './collections.ts'
import { expectOnlyRedundant, type RedundantPredicate, watchStatements } from './planted-faults.ts'
import { startTestService, type TestService, withoutBackground } from './service.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Fixture } from './fixture.ts'

/** A lead that is pushed to both organizations, with all keys of a contact and of a company. */
const sharedLead: JsonObject = {
  contact: { email: 'shared@example.com', name: 'Ada', externalIdCrm: 'shared', githubHandle: 'shared', note: 'Met' },
  employment: { title: 'Analyst', history: [{ organization: 'Engines', title: 'Analyst', start: '2020-01' }] },
  company: { name: 'Engines', domain: 'shared.com', externalIdCrm: 'shared' },
}
/** A lead whose only key is a handle. */
const handleLead: JsonObject = { contact: { name: 'Grace', xHandle: 'shared' } }
/** A lead whose contact exists in our organization and was edited manually. */
const existingLead: JsonObject = {
  contact: { email: 'known@example.com', name: 'Alan', note: 'Called' },
  employment: { history: [{ organization: 'Machines', start: '2020-01', current: true }] },
  company: { name: 'Machines' },
}
/** A lead whose contact our organization has deleted. */
const restoredLead: JsonObject = { contact: { email: 'returned@example.com' } }
const changedLead: JsonObject = {
  ...existingLead,
  contact: { email: 'known@example.com', bio: 'Writes', location: 'London', note: 'Wrote' },
}

let service: TestService
let ours: Fixture
let theirs: Fixture
beforeAll(async () => {
  service = await startTestService(withoutBackground)
  // The other organization is created first, so that a query without the predicate finds its records first.
  theirs = await createFixture(service)
  ours = await createFixture(service)
})
afterAll(() => service.close())

const uuidOf = ({ organization }: Fixture): string => decodeId('org', organization.organizationId) ?? ''

/** Pushes a lead without processing it. */
async function push({ organization }: Pick<Fixture, 'organization'>, lead: JsonObject): Promise<void> {
  const { status } = await service.anonymous('POST', new URL(organization.triggerUrl).pathname, { body: lead })
  expect(status).toBe(200)
}

/** Pushes to an import whose team is deleted, so that the default team replaces it. */
async function pushWithoutTeam(): Promise<void> {
  const { call } = ours.organization
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Closed' } })
  const { body: imported } = await call('POST', '/v5/imports', { body: { name: 'Closed', teamId: team.id } })
  await push(
    { organization: { ...ours.organization, triggerUrl: imported.triggerUrl } },
    { contact: { email: 'a@b.com' } },
  )
  const id = decodeId('tea', team.id)
  await service.database.crossTenantQuery(
    'check the database',
    sql`update teams set deleted_at = now() where id = ${id}::uuid`,
  )
}

/** Predicates that can be removed without an effect, each with the rule that protects the data instead. */
const redundantPredicates: readonly RedundantPredicate[] = [
  {
    reason: 'with the locks of all organizations, a worker waits longer and reads nothing else',
    location: /select turn from import_turns where $/,
  },
  {
    reason: 'planted-fault-properties.test.ts covers the definitions of custom properties',
    location: /definitions end as definitions from property_sets where $/,
  },
  {
    reason: 'the rows are chosen and locked within the organization before they are taken',
    location: /^claiming .* from taken where row\.$/,
  },
  {
    reason: 'the rows belong to the claim, and no other process has its lease',
    location:
      /^working .* cross join lateral \( select id, case .* as changes from import_rows where $|created_contact_id from import_rows where $|as given \(.*\)\) ended where row\.$/,
  },
  {
    reason: 'the foreign keys include the organization: of a row’s import, an import’s team and a contact’s company',
    location:
      /join (imports import on import|teams team on team|lateral \( select \* from "companies" company where company)\.$/,
  },
  {
    reason: 'records are looked up and locked within the organization before anything else is read',
    location:
      /join (contacts contact on contact|companies company on company|\w+_external_ids owner on owner|"\w+_edited_values" edited on edited)\.$|where record\.$|^working all of\s+with found as materialized \(select unnest/,
  },
  {
    reason: 'contacts are looked up within a team, which belongs to one organization',
    location:
      /^working all of\s+with found as materialized \(\s+select contact\.id|join contact_emails further on further\.$/,
  },
  {
    reason: 'details are read by the ids of contacts and companies that were found within the organization',
    location:
      /(from "\w+_edits"|from "\w+_edited_values"|from notes|select "id" as id from "teams") where $|where job\.$|^working all of\s+select ("\w+_id" as id, field|job\.id)/,
  },
  {
    reason: 'the records with activity were found or created within the organization',
    location: /(last_activity_at = now\(\) from \( select id|select company_id) from "\w+" where $/,
  },
  {
    reason: 'a rendering is valid only together with the row that it was made from',
    location: /from "\w+_renderings" where $/,
  },
  {
    reason: 'the ids are those of the records that the statement has just written',
    location: /(delete from "\w+_external_ids"|jsonb_each_text\(external_ids\) external) where $/,
  },
]

test('removing any organization predicate from a statement of row processing changes its results', async () => {
  const { call } = ours.organization
  for (const lead of [restoredLead, existingLead]) await ours.pushes.push(ours.organization.importId, lead)
  const [alan, person] = (await call('GET', '/v5/contacts?limit=2')).body
  await call('PATCH', `/v5/contacts/${alan.id}`, { body: { location: 'Paris' } })
  await call('DELETE', `/v5/contacts/${person.id}`)
  for (const lead of [sharedLead, handleLead, existingLead, restoredLead]) {
    await theirs.pushes.push(theirs.organization.importId, lead)
  }
  for (const lead of [sharedLead, handleLead, changedLead, restoredLead]) await push(ours, lead)
  await pushWithoutTeam()
  const claim = await claimUpTo(10, 3600)
  expect(claim.rowIds).toHaveLength(5)
  // The other organization has the oldest pending row.
  await push(theirs, sharedLead)
  await push(ours, sharedLead)
  const statements = watchStatements()
  try {
    const { missed, detected } = await statements.plant(
      [
        {
          description: 'claiming',
          observe: () => claimUpTo(1, 60).then(({ rowIds }) => rowIds.join(), String),
        },
        {
          description: 'working',
          observe: async () => {
            statements.transactionResults()
            const failed = await processClaim(service.database, claim).catch(String)
            return `${failed} ${statements.transactionResults()}`
          },
        },
      ],
      effectsSql(claim.rowIds),
    )
    // The rows of another organization, its default team, its contacts and its companies.
    for (const location of [
      /^claiming .* from import_rows where $/,
      /join teams home on home\.$/,
      /from root_contacts where $/,
    ]) {
      expect(detected).toContainEqual(expect.stringMatching(location))
    }
    expect(detected).toContainEqual(expect.stringMatching(/all of\s+with found .*\s+select company\.id/))
    expectOnlyRedundant(missed, redundantPredicates)
  } finally {
    statements.restore()
  }
}, 120_000)

const claimUpTo = (maxRows: number, leaseSeconds: number): Promise<Claim> =>
  service.database.transaction(serviceActor('work', uuidOf(ours)), (transaction) =>
    claimRows(transaction, { maxRows, leaseSeconds }),
  )

/**
 * Reads the results of these rows, without values that differ between runs, and a checksum of the other's rows. No row in
 * transactions that have not finished any of them.
 */
function effectsSql(rowIds: readonly string[]): string {
  const tables = ['contacts', 'companies', 'employments', 'notes', 'contact_external_ids', 'company_external_ids']
  const rows = [...tables, 'import_rows'].map(
    (table) => `select to_jsonb(${table})::text as row from ${table} where organization_id = '${uuidOf(theirs)}'`,
  )
  return `
    select (select json_agg(json_build_object('status', status, 'errors', error_codes, 'warnings', warning_codes,
        'isOld', (select created_at < now()::timestamptz(3) from contacts where contacts.id = contact_id),
        'changes', (select json_agg(json_build_array(change -> 'object', change -> 'action', change -> 'before',
            (select json_agg(name order by name) from jsonb_object_keys(change -> 'after') name)))
          from jsonb_array_elements(changes::jsonb) change)) order by id)
      from import_rows where id in (${rowIds.map((id) => `'${id}'`).join()})) as ours,
      (select md5(string_agg(row, '' order by row)) from (${rows.join(' union all ')}) rows) as theirs
    where exists (select from import_rows where id in (${rowIds.map((id) => `'${id}'`).join()}) and status <> 'PROCESSING')`
}
