import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runsOf, seed } from '../../../../test/seed.ts'
import { resources } from '../../../app.ts'
import { retentionPolicies } from '../../../retention-policies.ts'
import {
  type ShortLivedRow,
  shortLivedRowNames,
  shortLivedRows,
  hash,
  type StoredRow,
} from '../../../../test/short-lived-rows.ts'
import { dealData, dealRows } from '../../../../test/purged-deals.ts'
import { eventsOf, eventsOfPurge, takeAddedEvents } from '../../../../test/purged-events.ts'
import { isDistributed } from '../../../../test/engines.ts'
import { minimalRow } from '../../../../test/table-rows.ts'
import { endGrace, expectAccurateCounts, readTables, rowKey } from '../../../../test/stored-rows.ts'
import {
  ago,
  importRowsDays,
  retention,
  createMaintenanceFixture,
  type MaintenanceFixture,
} from '../../../../test/maintenance-fixture.ts'

let fixture: MaintenanceFixture
beforeAll(async () => {
  fixture = await createMaintenanceFixture()
})
afterAll(() => fixture.close())

/** Days since a record was deleted, null for an undeleted one. The limit is 30 days and a grace period of a minute. */
const deletedDays = fc.constantFrom(null, null, null, 0, 29.9, 30.0001, 30.1, 45, 400)
const isExpired = (days: number | null, maxDays = 30.001): boolean => days !== null && days > maxDays

const pick = fc.nat({ max: 20 })
const arrayOf = <Shape extends object>(shape: { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }, maxLength: number) =>
  fc.array(fc.record(shape as unknown as { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }), { maxLength })

const statuses = ['PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'INVALID', 'DEAD', 'CANCELLED'] as const
const isWaiting = (status: string): boolean => ['PENDING', 'PROCESSING', 'RETRYING'].includes(status)

/** Tables with special rules below. */
const modelledTables = [
  ...['teams', 'invitations', 'companies', 'contacts', 'employments', 'notes', 'tasks', 'imports'],
  ...['pipelines', 'stages', 'deals', 'deal_contacts', 'webhooks'],
]
/** Deleted records of all other tables expire by age alone. */
const others = resources.filter(({ table, softDelete }) => softDelete && !modelledTables.includes(table))

/** The data of one organization; numbers refer to records of the other lists by index. */
const organizationData = fc.record({
  teams: arrayOf({ deleted: deletedDays }, 3),
  joined: arrayOf({ team: pick, person: pick }, 8),
  invitations: arrayOf({ deleted: deletedDays, team: pick }, 4),
  companies: arrayOf({ deleted: deletedDays }, 4),
  others: arrayOf({ deleted: deletedDays }, 3),
  contacts: arrayOf({ deleted: deletedDays, team: pick, company: pick, root: pick }, 8),
  employments: arrayOf({ deleted: deletedDays, contact: pick }, 6),
  notes: arrayOf({ deleted: deletedDays, on: fc.constantFrom('contact', 'company', 'deal'), record: pick }, 6),
  tasks: arrayOf({ deleted: deletedDays, on: fc.constantFrom(null, 'contact', 'company', 'deal'), record: pick }, 6),
  imports: arrayOf({ deleted: deletedDays, team: pick }, 4),
  rows: arrayOf(
    { import: pick, status: fc.constantFrom(...statuses), finished: fc.constantFrom(0, 89.9, 90.1, 300) },
    12,
  ),
  keys: arrayOf({ import: pick, days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  refusals: arrayOf({ import: pick, days: fc.constantFrom(0, 29.9, 30.1, 89.9, 90.1) }, 6),
  triggers: arrayOf({ import: pick, days: fc.constantFrom(null, -1, 0.01, 3) }, 4),
  answers: arrayOf({ days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  sessions: arrayOf({ ended: fc.constantFrom(null, 1, 29.9, 30.1), lapsed: fc.constantFrom(-1, 1, 29.9, 30.1) }, 4),
  sales: dealData(deletedDays),
  brief: arrayOf({ of: fc.constantFrom(...shortLivedRowNames), over: fc.constantFrom(-1, -0.01, 0.01, 3) }, 12),
  left: arrayOf({ root: pick, days: fc.constantFrom(0, 0.04, 0.05, 3) }, 4),
})
type OrganizationData = typeof organizationData extends fc.Arbitrary<infer Value> ? Value : never

/** The rows of each table, and whether they must remain. */
type Expected = Map<string, { row: StoredRow; stays: boolean }[]>

/** A table that lists root contacts to check; what it lists is not compared. */
const listOfRoots = 'root_contacts_left'

const itemAt = <Item>(items: readonly Item[], index: number): Item | undefined =>
  items.length === 0 ? undefined : items[index % items.length]

type StoreRows = <Row extends { row: StoredRow; stays: boolean }>(table: string, rows: Row[]) => void

const since = (days: number | null): string | null => (days === null ? null : ago(days))
const expectedRow = (row: StoredRow, isExpired: boolean): { row: StoredRow; stays: boolean } => ({
  row,
  stays: !isExpired,
})

/** Stores the generated data; returns which rows must remain, computed independently of the product. */
async function store(fixture: MaintenanceFixture, generated: OrganizationData): Promise<Expected> {
  const { expected, inserted, organization_id } = rowsOf(generated)
  await fixture.insertAll(inserted)
  await fixture.client.query(
    `insert into import_row_counts (organization_id, import_id, status, change)
     select organization_id, import_id, status, count(*) from import_rows where organization_id = $1 group by 1, 2, 3`,
    [organization_id],
  )
  return expected
}

/** The rows of an organization, and what of them to insert: a purge may change others in their columns. */
function rowsOf(generated: OrganizationData) {
  const organization_id = randomUUID()
  const people = [randomUUID(), randomUUID(), randomUUID()]
  const expected: Expected = new Map()
  const inserted = new Map<string, StoredRow[]>()
  const storeRows: StoreRows = (table, rows) => {
    inserted.set(table, [...(inserted.get(table) ?? []), ...rows.map(({ row }) => ({ ...row }))])
    expected.set(table, [...(expected.get(table) ?? []), ...rows])
  }
  storeRows('organizations', [expectedRow({ id: organization_id, name: 'Any', slug: organization_id }, false)])
  const accounts = people.map((id) =>
    expectedRow({ id, email: `${id}@a.com`, email_key: `${id}@a.com`, name: 'A' }, false),
  )
  storeRows('users', accounts)
  const records = recordsOf(organization_id, generated)
  for (const { root, days } of generated.left) {
    const left = itemAt(records.root_contacts, root)
    const isNeeded = records.contacts.some(({ stays: isKept, ofRoot }) => isKept && ofRoot === left)
    if (left && days > 1 / 24 && !isNeeded) left.stays = false
    if (!left) continue
    const listed = { organization_id, id: left.row.id, left_at: ago(days) }
    inserted.set(listOfRoots, [...(inserted.get(listOfRoots) ?? []), listed])
  }
  for (const table of ['root_contacts', 'teams', 'companies', 'contacts', 'imports', 'import_rows'] as const)
    storeRows(table, records[table])
  const deletable = (days: number | null, row: StoredRow) =>
    expectedRow({ organization_id, id: randomUUID(), ...row, deleted_at: since(days) }, isExpired(days))
  const sales = dealRows(generated.sales, { organization_id, ...records, deletable })
  for (const [table, rows] of Object.entries(sales)) storeRows(table, rows)
  for (const resource of others) {
    // Some names are unique.
    const named = () => ({ ...minimalRow(resource, {}), ...('name' in resource.fields && { name: randomUUID() }) })
    const rows = generated.others.map(({ deleted }) =>
      expectedRow({ organization_id, ...named(), deleted_at: since(deleted) }, isExpired(deleted)),
    )
    storeRows(resource.table, rows)
  }
  storeDependents(organization_id, generated, records, storeRows)
  storeRemarks(generated, { ...records, deals: sales.deals }, deletable, storeRows)
  storePeople({ organization_id, people }, generated, records, storeRows)
  storeExpiring({ organization_id, userId: people[0] ?? '' }, generated, records, storeRows)
  storeShortLived({ organization_id, user_id: people[0] ?? '' }, generated, storeRows)
  for (const { row, ofCompany } of [...records.contacts, ...sales.deals])
    if (ofCompany && !ofCompany.stays) row.company_id = null
  return { expected, inserted, organization_id }
}

type Records = ReturnType<typeof recordsOf>

/** The main records; a record that another one needs must remain. */
function recordsOf(organization_id: string, generated: OrganizationData) {
  const own = (row: StoredRow): StoredRow => ({ organization_id, id: randomUUID(), ...row })
  const deletable = (deleted: number | null, row: StoredRow) =>
    expectedRow(own({ ...row, deleted_at: since(deleted) }), isExpired(deleted))
  const roots = [0, 1, 2, 3, 4].map(() => expectedRow(own({}), false))
  const teams = [
    deletable(null, { name: 'Home', is_default: true }),
    ...generated.teams.map(({ deleted }, index) => deletable(deleted, { name: `Team ${index}`, is_default: false })),
  ]
  const companies = generated.companies.map(({ deleted }) => deletable(deleted, { name: 'Any' }))
  const contacts = generated.contacts.map(({ deleted, team, company, root }) => {
    const [ofTeam, ofCompany, ofRoot] = [itemAt(teams, team), itemAt(companies, company), itemAt(roots, root)]
    const references = {
      team_id: ofTeam?.row.id,
      company_id: ofCompany?.row.id ?? null,
      root_contact_id: ofRoot?.row.id,
    }
    return { ...deletable(deleted, { name: 'Any', ...references }), ofTeam, ofCompany, ofRoot }
  })
  const imports = generated.imports.map(({ deleted, team }) => {
    const ofTeam = itemAt(teams, team)
    return { ...deletable(deleted, { name: 'Any', team_id: ofTeam?.row.id }), ofTeam }
  })
  const rowsWithImport = generated.rows.flatMap((row) => {
    const ofImport = itemAt(imports, row.import)
    if (ofImport && isWaiting(row.status)) ofImport.stays = true
    return ofImport ? [{ ...row, ofImport }] : []
  })
  for (const { stays: isKept, ofTeam } of [...contacts, ...imports]) if (isKept && ofTeam) ofTeam.stays = true
  const rows = rowsWithImport.map(({ status, finished, ofImport }) => {
    const finished_at = isWaiting(status) ? null : ago(finished)
    const isDone = !isWaiting(status) && finished > importRowsDays
    return expectedRow(own({ import_id: ofImport.row.id, status, finished_at, payload: {} }), isDone || !ofImport.stays)
  })
  return { root_contacts: roots, teams, companies, contacts, imports, import_rows: rows }
}

/** Stores the dependents of contacts and companies. */
function storeDependents(
  organization_id: string,
  generated: OrganizationData,
  records: Records,
  storeRows: StoreRows,
): void {
  const jobs = generated.employments.flatMap(({ deleted, contact }) => {
    const owner = itemAt(records.contacts, contact)
    if (!owner) return []
    const row = { organization: 'Any', contact_id: owner.row.id, deleted_at: since(deleted) }
    return [expectedRow({ organization_id, id: randomUUID(), ...row }, isExpired(deleted) || !owner.stays)]
  })
  storeRows('employments', jobs)
  for (const [table, column, owners] of [
    ['contact_edits', 'contact_id', records.contacts],
    ['company_edits', 'company_id', records.companies],
  ] as const) {
    const edits = owners.map((owner) =>
      expectedRow({ organization_id, [column]: owner.row.id, field: 'name' }, !owner.stays),
    )
    storeRows(table, edits)
    const values = owners.map((owner) =>
      expectedRow({ organization_id, [column]: owner.row.id, field: 'tags', digest: hash() }, !owner.stays),
    )
    storeRows(table.replace('edits', 'edited_values'), values)
    const history = owners.map((owner) => {
      const row = { organization_id, id: randomUUID(), [column]: owner.row.id, action: 'updated', source: 'person' }
      return expectedRow({ ...row, changes: [] }, !owner.stays)
    })
    storeRows(table.replace('edits', 'changes'), history)
    storeRows('events', eventsOf(organization_id, owners))
  }
}

/** Stores notes and tasks, which are purged with the record that they are on. */
function storeRemarks(
  { notes, tasks }: OrganizationData,
  { contacts, companies, deals }: Record<'contacts' | 'companies' | 'deals', { row: StoredRow; stays: boolean }[]>,
  deletable: (deleted: number | null, row: StoredRow) => { row: StoredRow; stays: boolean },
  storeRows: StoreRows,
): void {
  const owners = { contact: contacts, company: companies, deal: deals }
  const rowsOf = (generated: OrganizationData['notes' | 'tasks'], values: StoredRow) =>
    generated.flatMap(({ deleted, on, record }) => {
      if (on === null) return [deletable(deleted, values)]
      const owner = itemAt(owners[on], record)
      if (!owner) return []
      const { row, stays } = deletable(deleted, { ...values, [`${on}_id`]: owner.row.id })
      return [{ row, stays: stays && owner.stays }]
    })
  storeRows('notes', rowsOf(notes, { body: 'Any' }))
  storeRows('tasks', rowsOf(tasks, { title: 'Any', time_zone: 'UTC' }))
}

/** Stores members, their teams and invitations. */
function storePeople(
  { organization_id, people }: { organization_id: string; people: readonly string[] },
  generated: OrganizationData,
  { teams }: Records,
  storeRows: StoreRows,
): void {
  const members = people.map((user_id) => expectedRow({ organization_id, user_id, role: 'member' }, false))
  storeRows('members', members)
  const joined = new Map<string, { row: StoredRow; stays: boolean }>()
  for (const { team, person } of generated.joined) {
    const [ofTeam, id] = [itemAt(teams.slice(1), team), itemAt(people, person)]
    const row = { organization_id, team_id: ofTeam?.row.id, id }
    if (ofTeam) joined.set(rowKey('team_members', row), expectedRow(row, !ofTeam.stays))
  }
  storeRows('team_members', [...joined.values()])
  const invitations = generated.invitations.map(({ deleted, team }) => {
    const ofTeam = itemAt(teams, team)
    const id = randomUUID()
    const row = { organization_id, id, email: 'a@b.c', email_key: id, role: 'member', expires_at: ago(0) }
    return {
      ...expectedRow({ ...row, team_id: ofTeam?.row.id, deleted_at: since(deleted) }, isExpired(deleted)),
      ofTeam,
    }
  })
  storeRows('invitations', invitations)
  for (const { row, ofTeam } of invitations) if (!ofTeam?.stays) row.team_id = null
}

/** Stores short-lived rows that expire by one column. */
function storeShortLived(
  { organization_id, user_id }: { organization_id: string; user_id: string },
  generated: OrganizationData,
  storeRows: StoreRows,
): void {
  const others = { api_key_id: randomUUID(), connection_id: randomUUID(), webhook_id: randomUUID() }
  const known = { organization_id, user_id, ...others }
  const key = { name: 'Any', hash: hash(), scopes: [], created_by: user_id }
  storeRows('api_keys', [expectedRow({ organization_id, id: known.api_key_id, ...key }, false)])
  const connection = { name: 'Any', issuer: 'https://id.example', client_id: 'any', enabled: true }
  storeRows('sso_connections', [expectedRow({ organization_id, id: known.connection_id, ...connection }, false)])
  const webhook = { url: 'https://example.com', created_by: user_id }
  storeRows('webhooks', [expectedRow({ organization_id, id: known.webhook_id, ...webhook }, false)])
  const rows = new Map<string, { row: StoredRow; stays: boolean }[]>(
    Object.values(shortLivedRows).map(({ table }) => [table, []]),
  )
  for (const { of, over } of generated.brief) {
    const { table, since, days, row }: ShortLivedRow = shortLivedRows[of]
    const itemAt = ago(days + over)
    rows.set(table, [...(rows.get(table) ?? []), expectedRow({ ...row(known, itemAt), [since]: itemAt }, over > 0)])
  }
  for (const [table, maxDays] of rows) storeRows(table, maxDays)
}

/** Stores short-lived rows with other rules. */
function storeExpiring(
  { organization_id, userId }: { organization_id: string; userId: string },
  generated: OrganizationData,
  { imports }: Records,
  storeRows: StoreRows,
): void {
  const rowsOfImport = (index: number, row: StoredRow, isExpired: boolean) => {
    const ofImport = itemAt(imports, index)
    return ofImport
      ? [expectedRow({ organization_id, import_id: ofImport.row.id, ...row }, isExpired || !ofImport.stays)]
      : []
  }
  const keys = generated.keys.flatMap(({ import: index, days }) =>
    rowsOfImport(
      index,
      { key_hash: hash(), request_hash: hash(), row_id: randomUUID(), created_at: ago(days) },
      days > 1,
    ),
  )
  storeRows('import_push_keys', keys)
  const refusals = (rowOf: (days: number) => StoredRow, maxDays: number) =>
    generated.refusals.flatMap(({ import: index, days }) => rowsOfImport(index, rowOf(days), days > maxDays))
  const reason = { code: 'any', message: 'any' }
  const refused = (days: number) => ({ id: randomUUID(), ...reason, sender: '-', address: '-', created_at: ago(days) })
  storeRows('refused_pushes', refusals(refused, 30))
  const sender = (days: number) => ({
    ...reason,
    sender: randomUUID(),
    refused: 1,
    since: ago(100),
    last_at: ago(days),
  })
  storeRows('refused_senders', refusals(sender, 30))
  const count = (days: number) => ({ code: randomUUID(), counted_at: ago(days), count: 1 })
  storeRows('refused_push_counts', refusals(count, 90))
  let slot = 0
  const bytes = (days: number) => ({ counted_on: ago(days), slot: slot++, bytes: 1 })
  storeRows('import_pushed_bytes', refusals(bytes, 90))
  const triggers = generated.triggers.flatMap(({ import: index, days }) =>
    rowsOfImport(index, { hash: hash(), expires_at: since(days) }, days !== null && days > 0),
  )
  storeRows('import_secrets', triggers)
  storeRows('import_triggers', triggers)
  const answers = generated.answers.map(({ days }) => {
    const hashes = { key_hash: hash(), request_hash: hash(), answer_encrypted: hash() }
    return expectedRow({ organization_id, credential_id: randomUUID(), ...hashes, created_at: ago(days) }, days > 1)
  })
  storeRows('idempotency_answers', answers)
  const sessions = generated.sessions.map(({ ended, lapsed }) => {
    const times = { ended_at: since(ended), expires_at: ago(lapsed), proved_at: ago(31) }
    const row = { organization_id, id: randomUUID(), user_id: userId, nonce: hash(), ...times }
    return expectedRow(row, isExpired(ended) || isExpired(lapsed))
  })
  storeRows('sessions', sessions)
}

/** The purged tables, without root_contacts_left, which only lists rows to check. */
const purgedTables = retentionPolicies(retention)
  .map(({ table }) => table)
  .filter((table) => table !== listOfRoots)

test('expired rows are deleted and every other row stays unchanged, in every organization', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(organizationData, { minLength: 1, maxLength: 3 }), async (organizations) => {
      const expected: Expected[] = []
      for (const generated of organizations) expected.push(await store(fixture, generated))
      const tables = [...new Set(expected.flatMap((one) => [...one.keys()]))]
      expect(tables).toEqual(expect.arrayContaining(purgedTables))
      const before = await readTables(fixture, tables)
      await fixture.round()
      const after = await readTables(fixture, tables)
      expect(takeAddedEvents(before, after)).toEqual(expected.flatMap(eventsOfPurge).sort())
      for (const table of tables) {
        const maxDays = new Map(before.get(table))
        for (const { row, stays } of expected.flatMap((one) => one.get(table) ?? [])) {
          const whole = maxDays.get(rowKey(table, row))
          if (!stays) maxDays.delete(rowKey(table, row))
          // Contacts and deals of a purged company lose its id, and so do invitations to a purged team.
          else if (['contacts', 'deals'].includes(table) && whole) whole.company_id = row.company_id
          else if (table === 'invitations' && whole) whole.team_id = row.team_id
        }
        expect(after.get(table), table).toEqual(maxDays)
      }
      expect(fixture.logged).toEqual([])
      await expectAccurateCounts(fixture)
      await endGrace(fixture, tables)
    }),
    { seed, numRuns: isDistributed() ? 4 : runsOf(12), endOnFailure: true },
  )
}, 120_000)
