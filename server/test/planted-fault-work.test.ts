import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../src/platform/database/sql.ts'
import type { JsonObject } from '../src/platform/resource/fields.ts'
import { readId } from '../src/platform/resource/ids.ts'
import { workOn } from '../src/resources/imports/batch.ts'
import { claimRows } from '../src/resources/imports/work-store.ts'
import { newWorld, type World } from './collections.ts'
import { type Statements, watchStatements } from './faults.ts'
import { startTestService, type TestService } from './service.ts'

/** Someone whom both organizations have pushed at them; by address, by external id, and by everything that names a company. */
const shared: JsonObject = {
  contact: { email: 'shared@example.com', name: 'Ada', externalIdCrm: 'shared', githubHandle: 'shared', note: 'Met' },
  employment: { title: 'Analyst', history: [{ organization: 'Engines', title: 'Analyst', start: '2020-01' }] },
  company: { name: 'Engines', domain: 'shared.com', externalIdCrm: 'shared' },
}
/** Nothing but a handle names this one. */
const handled: JsonObject = { contact: { name: 'Grace', xHandle: 'shared' } }
/** Someone whom ours has already, changed by hand since. */
const known: JsonObject = {
  contact: { email: 'known@example.com', name: 'Alan', note: 'Called' },
  employment: { history: [{ organization: 'Machines', start: '2020-01', current: true }] },
  company: { name: 'Machines' },
}
const more: JsonObject = {
  ...known,
  contact: { email: 'known@example.com', bio: 'Writes', location: 'London', note: 'Wrote' },
}

let service: TestService
let ours: World
let theirs: World
let statements: Statements
beforeAll(async () => {
  service = await startTestService()
  // The other organization first: what is found without the predicate is then theirs.
  theirs = await newWorld(service)
  ours = await newWorld(service)
})
afterAll(() => service.close())

const uuidOf = ({ organization }: World): string => readId('org', organization.organizationId) ?? ''

/** Pushes without working on it. */
async function push({ organization }: World, lead: JsonObject): Promise<void> {
  const { status } = await service.anonymous('POST', new URL(organization.triggerUrl).pathname, { body: lead })
  expect(status).toBe(200)
}

/** Predicates that can go without anyone seeing more, because another rule holds the same line; each with that rule. */
const heldTwice: readonly { why: string; place: RegExp }[] = []

test('of the work on rows too, a statement that drops its organization shows: every predicate', async () => {
  for (const lead of [shared, handled, known]) await theirs.pushes.push(theirs.organization.importId, lead)
  await ours.pushes.push(ours.organization.importId, known)
  const [contact] = (await ours.organization.call('GET', '/v5/contacts?email=known@example.com')).body
  await ours.organization.call('PATCH', `/v5/contacts/${contact.id}`, { body: { location: 'Paris' } })
  for (const lead of [shared, handled, more]) await push(ours, lead)
  const claim = await claimRows(service.database, uuidOf(ours), { most: 10, leaseSeconds: 3600 })
  expect(claim.rowIds).toHaveLength(3)
  // Of the rows that wait theirs is the first.
  await push(theirs, shared)
  await push(ours, shared)
  statements = watchStatements()
  try {
    const { missed, seen } = await statements.survivors(
      [
        {
          told: 'claiming',
          look: async () =>
            (await claimRows(service.database, uuidOf(ours), { most: 1, leaseSeconds: 60 })).rowIds.join(),
        },
        {
          told: 'working',
          look: async () => {
            statements.insights()
            const failed = await workOn(service.database, claim).catch(String)
            return `${failed} ${statements.insights()}`
          },
        },
      ],
      effects(claim.rowIds),
    )
    console.log(missed.join('\n'), seen)
    expect(missed.filter((place) => !heldTwice.some((held) => held.place.test(place)))).toEqual([])
    expect(heldTwice.filter((held) => !missed.some((place) => held.place.test(place)))).toEqual([])
  } finally {
    statements.restore()
  }
}, 120_000)

/** What became of these rows, in words that are the same each time, and whether anything of theirs is as it was. */
function effects(rowIds: readonly string[]): string {
  const tables = ['contacts', 'companies', 'employments', 'notes', 'contact_external_ids', 'company_external_ids']
  const rows = [...tables, 'import_rows'].map(
    (table) => `select to_jsonb(${table})::text as row from ${table} where organization_id = '${uuidOf(theirs)}'`,
  )
  return `
    select (select json_agg(json_build_object('status', status, 'errors', error_codes, 'warnings', warning_codes,
        'isOld', (select created_at < now() from contacts where contacts.id = contact_id),
        'changes', (select json_agg(json_build_array(change -> 'object', change -> 'action', change -> 'before',
            (select json_agg(name order by name) from jsonb_object_keys(change -> 'after') name)))
          from jsonb_array_elements(changes::jsonb) change)) order by id)
      from import_rows where id in (${rowIds.map((id) => `'${id}'`).join()})) as ours,
      (select md5(string_agg(row, '' order by row)) from (${rows.join(' union all ')}) rows) as theirs`
}
