import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../src/platform/model/ids.ts'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { analyseByRules } from '../src/assistant/analysis/local-rules.ts'
import { type Claim, claimNotes, releaseNotes } from '../src/assistant/work/claim-store.ts'
import { type AnalysedNote, storeAnalyses } from '../src/assistant/work/result-store.ts'
import { expectOnlyRedundant, type RedundantPredicate, type Statements, watchStatements } from './planted-faults.ts'
import { type Json, startTestService, type TestOrganization, type TestService, withoutBackground } from './service.ts'

let service: TestService
let ours: TestOrganization
let theirs: TestOrganization

beforeAll(async () => {
  service = await startTestService(withoutBackground)
  // The other organization is created first, so that a query without the predicate finds its records first.
  theirs = await service.newOrganization()
  ours = await service.newOrganization()
  await theirs.call('PATCH', '/v5/organization', { body: { timeZone: 'Asia/Tokyo' } })
  await fill(theirs)
  await finish(await claim(theirs))
  await fill(theirs)
  // A note that waits for so long is not analysed any more.
  await run(sql`update notes set reasoning_queued_at = now() - interval '31 days' where id in (
    select id from notes where organization_id = ${uuidOf(theirs)}::uuid and reasoning_queued_at is not null limit 1)`)
  await fill(ours)
})
afterAll(() => service.close())

const uuidOf = ({ organizationId }: TestOrganization): string => decodeId('org', organizationId) ?? ''
const run = (statement: Sql) => service.database.crossTenantQuery('check the database', statement)
const claim = (organization: TestOrganization, maxNotes = 10) =>
  claimNotes(service.database, uuidOf(organization), { maxNotes, leaseSeconds: 3600 })

/** A contact, a company and a deal with a note each, whose suggestions nobody has decided. */
async function fill({ call }: TestOrganization): Promise<void> {
  const create = async (path: string, body: Json): Promise<Json> => {
    const made = await call('POST', path, { body })
    expect(made.status, made.text).toBe(201)
    return made.body
  }
  const company = await create('/v5/companies', { name: 'Engines' })
  const contact = await create('/v5/contacts', { name: 'Ada', companyId: company.id })
  const deal = await create('/v5/deals', { name: 'Engine', companyId: company.id })
  await create(`/v5/deals/${deal.id}/contacts`, { contactId: contact.id })
  await create('/v5/tasks', { title: 'Call', contactId: contact.id })
  const body = 'No thanks, we are not interested.'
  await create(`/v5/contacts/${contact.id}/notes`, { body: 'Please unsubscribe me from your mailing list.' })
  await create(`/v5/companies/${company.id}/notes`, { body })
  await create(`/v5/deals/${deal.id}/notes`, { body })
}

const { signal } = new AbortController()
const analyse = ({ organizationId, notes }: Claim): Promise<AnalysedNote[]> =>
  Promise.all(
    notes.map(async (note) => ({
      note,
      analysis: await analyseByRules({ organizationId, text: note.text }, note.facts, signal),
    })),
  )
const finish = async (claimed: Claim) => storeAnalyses(service.database, claimed, await analyse(claimed))

/** Predicates that can be removed without an effect, each with the rule that protects the data instead. */
const redundantPredicates: readonly RedundantPredicate[] = [
  {
    reason: 'the notes are chosen within the organization, and everything else is found by their ids',
    location:
      /^claiming .*(set reasoning_queued_at = null where|previous on previous\.|note_leases lease where lease\.|all of\s+select note)/s,
  },
  {
    reason:
      'records and their tasks are found by the ids that notes refer to, with foreign keys that include the organization',
    location: /^claiming .*(deals other|deal_contacts link|tasks task|contacts contact|companies company|deals deal)/,
  },
  { reason: 'the notes belong to the claim, and no other process has its lease', location: /^(storing|releasing) / },
]

/** What the work returns, and what the tables contain after it. */
const effectsOf = async (statements: Statements, work: () => Promise<unknown>): Promise<string> => {
  statements.transactionResults()
  const result = await work().catch(String)
  return `${JSON.stringify(result)} ${statements.transactionResults()}`
}

test('removing any organization predicate from a statement of note analysis changes its results', async () => {
  const claimed = await claim(ours, 2)
  expect(claimed.notes).toHaveLength(2)
  const analysed = await analyse(claimed)
  const statements = watchStatements()
  const { database } = service
  const readClaim = async () =>
    (await claim(ours)).notes.map((note) => ({ ...note, facts: { ...note.facts, now: undefined } }))
  try {
    const { missed, detected } = await statements.plant(
      [
        { description: 'claiming', observe: () => effectsOf(statements, readClaim), all: /^\s*with finished as/ },
        {
          description: 'storing',
          observe: () => effectsOf(statements, () => storeAnalyses(database, claimed, analysed)),
        },
        {
          description: 'releasing',
          observe: () => effectsOf(statements, () => releaseNotes(database, claimed)),
        },
      ],
      effectsSql(),
    )
    // The notes of another organization, and those that have waited for too long.
    expect(detected).toContainEqual(expect.stringMatching(/previous\.note_id = note\.id where note\.$/))
    expect(detected).toContainEqual(expect.stringMatching(/all of\s+with finished as \(\s+update notes set/))
    expectOnlyRedundant(missed, redundantPredicates)
  } finally {
    statements.restore()
  }
})

test('removing the lease from any statement lets a worker store or release what another one has', async () => {
  await fill(ours)
  const lost = await claim(ours)
  const analysed = await analyse(lost)
  await run(
    sql`update note_leases set expires_at = now() - interval '1 second' where organization_id = ${uuidOf(ours)}::uuid`,
  )
  expect((await claim(ours)).notes.length).toBeGreaterThanOrEqual(lost.notes.length)
  const statements = watchStatements({
    // Not where a release sets a new one.
    pattern: /(?<!\bset\s+)\b(?:lease\.)?lease = (\$\d+::uuid)/g,
    without: (_, parameter) => `${parameter} is not null`,
  })
  const { database } = service
  try {
    const { missed, detected } = await statements.plant(
      [
        { description: 'storing', observe: () => effectsOf(statements, () => storeAnalyses(database, lost, analysed)) },
        { description: 'releasing', observe: () => effectsOf(statements, () => releaseNotes(database, lost)) },
      ],
      effectsSql(),
    )
    expect(missed).toEqual([])
    expect(detected).toHaveLength(3)
  } finally {
    statements.restore()
  }
})

/** A checksum of the other organization's rows, and what differs between ours. */
function effectsSql(): string {
  const tables = ['notes', 'note_leases', 'note_analyses', 'suggestions', 'contacts', 'events']
  const rows = tables.map(
    (table) => `select to_jsonb(${table})::text as row from ${table} where organization_id = '${uuidOf(theirs)}'`,
  )
  return `select (select md5(string_agg(row, '' order by row)) from (${rows.join(' union all ')}) rows) as theirs,
    (select json_agg(json_build_array(note_id, type, status, result_contact_id) order by note_id, type)
      from suggestions where organization_id = '${uuidOf(ours)}') as suggestions,
    (select json_agg(json_build_array(note_id, attempts) order by note_id)
      from note_leases where organization_id = '${uuidOf(ours)}') as leases,
    (select count(*) from notes where organization_id = '${uuidOf(ours)}' and reasoning_queued_at is not null) as queued`
}
