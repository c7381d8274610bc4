import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed } from './seed.ts'
import { resources } from '../src/app.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { type Brief, briefNames, briefs, hash, type Stored } from './upkeep-briefs.ts'
import { leastRow } from './table-rows.ts'
import { ago, importRowsDays, upkeepWorld, type UpkeepWorld } from './upkeep-world.ts'

let world: UpkeepWorld
beforeAll(async () => {
  world = await upkeepWorld()
})
afterAll(() => world.close())

/** Days since a record was deleted; null for one that is there. The limits are 30 days and a minute of grace. */
const deletedDays = fc.constantFrom(null, null, null, 0, 29.9, 30.0001, 30.1, 45, 400)
const isOver = (days: number | null, kept = 30.001): boolean => days !== null && days > kept

const pick = fc.nat({ max: 20 })
const part = <Shape extends object>(shape: { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }, maxLength: number) =>
  fc.array(fc.record(shape as unknown as { [Key in keyof Shape]: fc.Arbitrary<Shape[Key]> }), { maxLength })

const statuses = ['PENDING', 'PROCESSING', 'RETRYING', 'PROCESSED', 'INVALID', 'DEAD', 'CANCELLED'] as const
const waits = (status: string): boolean => ['PENDING', 'PROCESSING', 'RETRYING'].includes(status)

/** Tables whose records the rules below know. */
const modelled = ['teams', 'invitations', 'companies', 'contacts', 'employments', 'notes', 'imports']
/** Deleted records of the others go as their declarations say. */
const others = resources.filter(({ table, softDelete }) => softDelete && !modelled.includes(table))

/** What one organization holds: numbers choose among what stands before. */
const holding = fc.record({
  teams: part({ deleted: deletedDays }, 3),
  joined: part({ team: pick, person: pick }, 8),
  invitations: part({ deleted: deletedDays, team: pick }, 4),
  companies: part({ deleted: deletedDays }, 4),
  others: part({ deleted: deletedDays }, 3),
  contacts: part({ deleted: deletedDays, team: pick, company: pick, root: pick }, 8),
  employments: part({ deleted: deletedDays, contact: pick }, 6),
  notes: part({ deleted: deletedDays, contact: pick }, 6),
  imports: part({ deleted: deletedDays, team: pick }, 4),
  rows: part({ import: pick, status: fc.constantFrom(...statuses), finished: fc.constantFrom(0, 89.9, 90.1, 300) }, 12),
  keys: part({ import: pick, days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  triggers: part({ import: pick, days: fc.constantFrom(null, -1, 0.01, 3) }, 4),
  answers: part({ days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  sessions: part({ ended: fc.constantFrom(null, 1, 29.9, 30.1), lapsed: fc.constantFrom(-1, 1, 29.9, 30.1) }, 4),
  brief: part({ of: fc.constantFrom(...briefNames), over: fc.constantFrom(-1, -0.01, 0.01, 3) }, 12),
  left: part({ root: pick, days: fc.constantFrom(0, 0.04, 0.05, 3) }, 4),
})
type Holding = typeof holding extends fc.Arbitrary<infer Value> ? Value : never

/** Rows by table, each with whether it has to stay. */
type Expected = Map<string, { row: Stored; stays: boolean }[]>

const at = <Item>(items: readonly Item[], index: number): Item | undefined =>
  items.length === 0 ? undefined : items[index % items.length]

type Keep = <Row extends { row: Stored; stays: boolean }>(table: string, rows: Row[]) => Promise<void>

const since = (days: number | null): string | null => (days === null ? null : ago(days))
const stays = (row: Stored, isOver: boolean): { row: Stored; stays: boolean } => ({ row, stays: !isOver })

/** Stores what was drawn and tells what has to be left of it, by rules of its own. */
async function store(world: UpkeepWorld, drawn: Holding): Promise<Expected> {
  const organization_id = randomUUID()
  const people = [randomUUID(), randomUUID(), randomUUID()]
  const expected: Expected = new Map()
  const keep: Keep = async (table, rows) => {
    await world.insert(
      table,
      rows.map(({ row }) => row),
    )
    expected.set(table, rows)
  }
  await keep('organizations', [stays({ id: organization_id, name: 'Any', slug: organization_id }, false)])
  const accounts = people.map((id) => stays({ id, email: `${id}@a.com`, email_key: `${id}@a.com`, name: 'A' }, false))
  await keep('users', accounts)
  const records = recordsOf(organization_id, drawn)
  for (const { root, days } of drawn.left) {
    const left = at(records.root_contacts, root)
    const isNeeded = records.contacts.some(({ stays: isKept, ofRoot }) => isKept && ofRoot === left)
    if (left && days > 1 / 24 && !isNeeded) left.stays = false
    if (left) await world.insert('root_contacts_left', [{ organization_id, id: left.row.id, left_at: ago(days) }])
  }
  for (const table of ['root_contacts', 'teams', 'companies', 'contacts', 'imports', 'import_rows'] as const)
    await keep(table, records[table])
  for (const resource of others) {
    const rows = drawn.others.map(({ deleted }) =>
      stays({ organization_id, ...leastRow(resource, {}), deleted_at: since(deleted) }, isOver(deleted)),
    )
    await keep(resource.table, rows)
  }
  await storeWithin(organization_id, drawn, records, keep)
  await storePeople({ organization_id, people }, drawn, records, keep)
  await storeExpiring({ organization_id, userId: people[0] ?? '' }, drawn, records, keep)
  await storeBriefs({ organization_id, user_id: people[0] ?? '' }, drawn, keep)
  for (const { row, ofCompany } of records.contacts) if (ofCompany && !ofCompany.stays) row.company_id = null
  return expected
}

type Records = ReturnType<typeof recordsOf>

/** What stands for itself, and what keeps what. */
function recordsOf(organization_id: string, drawn: Holding) {
  const own = (row: Stored): Stored => ({ organization_id, id: randomUUID(), ...row })
  const deletable = (deleted: number | null, row: Stored) =>
    stays(own({ ...row, deleted_at: since(deleted) }), isOver(deleted))
  const roots = [0, 1, 2, 3, 4].map(() => stays(own({}), false))
  const teams = [
    deletable(null, { name: 'Home', is_default: true }),
    ...drawn.teams.map(({ deleted }, index) => deletable(deleted, { name: `Team ${index}`, is_default: false })),
  ]
  const companies = drawn.companies.map(({ deleted }) => deletable(deleted, { name: 'Any' }))
  const contacts = drawn.contacts.map(({ deleted, team, company, root }) => {
    const [ofTeam, ofCompany, ofRoot] = [at(teams, team), at(companies, company), at(roots, root)]
    const references = {
      team_id: ofTeam?.row.id,
      company_id: ofCompany?.row.id ?? null,
      root_contact_id: ofRoot?.row.id,
    }
    return { ...deletable(deleted, { name: 'Any', ...references }), ofTeam, ofCompany, ofRoot }
  })
  const imports = drawn.imports.map(({ deleted, team }) => {
    const ofTeam = at(teams, team)
    return { ...deletable(deleted, { name: 'Any', team_id: ofTeam?.row.id }), ofTeam }
  })
  const placed = drawn.rows.flatMap((row) => {
    const ofImport = at(imports, row.import)
    if (ofImport && waits(row.status)) ofImport.stays = true
    return ofImport ? [{ ...row, ofImport }] : []
  })
  for (const { stays: isKept, ofTeam } of [...contacts, ...imports]) if (isKept && ofTeam) ofTeam.stays = true
  const rows = placed.map(({ status, finished, ofImport }) => {
    const finished_at = waits(status) ? null : ago(finished)
    const isDone = !waits(status) && finished > importRowsDays
    return stays(own({ import_id: ofImport.row.id, status, finished_at, payload: {} }), isDone || !ofImport.stays)
  })
  return { root_contacts: roots, teams, companies, contacts, imports, import_rows: rows }
}

/** What lives in contacts and companies. */
async function storeWithin(organization_id: string, drawn: Holding, records: Records, keep: Keep): Promise<void> {
  const texts = { employments: 'organization', notes: 'body' } as const
  for (const table of ['employments', 'notes'] as const) {
    const rows = drawn[table].flatMap(({ deleted, contact }) => {
      const owner = at(records.contacts, contact)
      if (!owner) return []
      const row = { [texts[table]]: 'Any', contact_id: owner.row.id, deleted_at: since(deleted) }
      return [stays({ organization_id, id: randomUUID(), ...row }, isOver(deleted) || !owner.stays)]
    })
    await keep(table, rows)
  }
  for (const [table, column, owners] of [
    ['contact_edits', 'contact_id', records.contacts],
    ['company_edits', 'company_id', records.companies],
  ] as const) {
    const edits = owners.map((owner) => stays({ organization_id, [column]: owner.row.id, field: 'name' }, !owner.stays))
    await keep(table, edits)
    const values = owners.map((owner) =>
      stays({ organization_id, [column]: owner.row.id, field: 'tags', digest: hash() }, !owner.stays),
    )
    await keep(table.replace('edits', 'edited_values'), values)
  }
}

/** Who is in which teams, the default one above all, and who is asked to join one. */
async function storePeople(
  { organization_id, people }: { organization_id: string; people: readonly string[] },
  drawn: Holding,
  { teams }: Records,
  keep: Keep,
): Promise<void> {
  const members = people.map((user_id) => stays({ organization_id, user_id, role: 'member' }, false))
  await keep('members', members)
  const joined = new Map<string, { row: Stored; stays: boolean }>()
  for (const { team, person } of drawn.joined) {
    const [ofTeam, id] = [at(teams.slice(1), team), at(people, person)]
    const row = { organization_id, team_id: ofTeam?.row.id, id }
    if (ofTeam) joined.set(identity('team_members', row), stays(row, !ofTeam.stays))
  }
  await keep('team_members', [...joined.values()])
  const invitations = drawn.invitations.map(({ deleted, team }) => {
    const ofTeam = at(teams, team)
    const id = randomUUID()
    const row = { organization_id, id, email: 'a@b.c', email_key: id, role: 'member', expires_at: ago(0) }
    return { ...stays({ ...row, team_id: ofTeam?.row.id, deleted_at: since(deleted) }, isOver(deleted)), ofTeam }
  })
  await keep('invitations', invitations)
  for (const { row, ofTeam } of invitations) if (!ofTeam?.stays) row.team_id = null
}

/** What is good for a time only, and simple. */
async function storeBriefs(
  { organization_id, user_id }: { organization_id: string; user_id: string },
  drawn: Holding,
  keep: Keep,
): Promise<void> {
  const known = { organization_id, user_id, api_key_id: randomUUID(), connection_id: randomUUID() }
  const key = { name: 'Any', hash: hash(), scopes: [], created_by: user_id }
  await keep('api_keys', [stays({ organization_id, id: known.api_key_id, ...key }, false)])
  const connection = { name: 'Any', issuer: 'https://id.example', client_id: 'any', enabled: true }
  await keep('sso_connections', [stays({ organization_id, id: known.connection_id, ...connection }, false)])
  const rows = new Map<string, { row: Stored; stays: boolean }[]>(Object.values(briefs).map(({ table }) => [table, []]))
  for (const { of, over } of drawn.brief) {
    const { table, since, days, row }: Brief = briefs[of]
    const at = ago(days + over)
    rows.set(table, [...(rows.get(table) ?? []), stays({ ...row(known, at), [since]: at }, over > 0)])
  }
  for (const [table, kept] of rows) await keep(table, kept)
}

/** What is good for a time only. */
async function storeExpiring(
  { organization_id, userId }: { organization_id: string; userId: string },
  drawn: Holding,
  { imports }: Records,
  keep: Keep,
): Promise<void> {
  const within = (index: number, row: Stored, isOver: boolean) => {
    const ofImport = at(imports, index)
    return ofImport ? [stays({ organization_id, import_id: ofImport.row.id, ...row }, isOver || !ofImport.stays)] : []
  }
  const keys = drawn.keys.flatMap(({ import: index, days }) =>
    within(index, { key_hash: hash(), request_hash: hash(), row_id: randomUUID(), created_at: ago(days) }, days > 1),
  )
  await keep('import_push_keys', keys)
  const triggers = drawn.triggers.flatMap(({ import: index, days }) =>
    within(index, { hash: hash(), expires_at: since(days) }, days !== null && days > 0),
  )
  await keep('import_triggers', triggers)
  const answers = drawn.answers.map(({ days }) => {
    const hashes = { key_hash: hash(), request_hash: hash(), answer_encrypted: hash() }
    return stays({ organization_id, credential_id: randomUUID(), ...hashes, created_at: ago(days) }, days > 1)
  })
  await keep('idempotency_answers', answers)
  const sessions = drawn.sessions.map(({ ended, lapsed }) => {
    const times = { ended_at: since(ended), expires_at: ago(lapsed), proved_at: ago(31) }
    const row = { organization_id, id: randomUUID(), user_id: userId, nonce: hash(), ...times }
    return stays(row, isOver(ended) || isOver(lapsed))
  })
  await keep('sessions', sessions)
}

/** What tells a row of a table from the others of it, where that is not `id`. */
const keys: Readonly<Record<string, readonly string[]>> = {
  members: ['organization_id', 'user_id'],
  team_members: ['team_id', 'id'],
  contact_edits: ['contact_id'],
  company_edits: ['company_id'],
  contact_edited_values: ['contact_id'],
  company_edited_values: ['company_id'],
  import_push_keys: ['key_hash'],
  idempotency_answers: ['key_hash'],
  import_triggers: ['hash'],
  one_time_tokens: ['hash'],
  spent_challenges: ['hash'],
  sso_steps: ['hash'],
  api_key_previous_hashes: ['hash'],
}
const identity = (table: string, row: Stored): string => (keys[table] ?? ['id']).map((name) => String(row[name])).join()

/** Everything that a table holds, whole, by identity. */
async function read(world: UpkeepWorld, table: string): Promise<Map<string, Stored>> {
  const { rows } = await world.client.query<{ row: Stored }>(`select to_json(stored) as row from ${table} stored`)
  return new Map(rows.map(({ row }) => [identity(table, row), row]))
}

/** Everything that is purged of; the one that is missing is only a list of what to look at. */
const purgedTables = retentionPolicies({ importRowsDays })
  .map(({ table }) => table)
  .filter((table) => table !== 'root_contacts_left')

test('what has to go goes, and nothing else changes by a byte, in whatever organization', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(holding, { minLength: 1, maxLength: 3 }), async (organizations) => {
      const expected: Expected[] = []
      for (const drawn of organizations) expected.push(await store(world, drawn))
      const tables = [...new Set(expected.flatMap((one) => [...one.keys()]))]
      expect(tables).toEqual(expect.arrayContaining(purgedTables))
      const before = new Map<string, Map<string, Stored>>()
      for (const table of tables) before.set(table, await read(world, table))
      await world.round()
      for (const table of tables) {
        const kept = new Map(before.get(table))
        for (const { row, stays } of expected.flatMap((one) => one.get(table) ?? [])) {
          const whole = kept.get(identity(table, row))
          if (!stays) kept.delete(identity(table, row))
          // A company that is gone leaves nothing of itself in its contacts, a team nothing in its invitations.
          else if (table === 'contacts' && whole) whole.company_id = row.company_id
          else if (table === 'invitations' && whole) whole.team_id = row.team_id
        }
        expect(await read(world, table), table).toEqual(kept)
      }
      expect(world.logged).toEqual([])
      await expectTrueCounts(world)
    }),
    { seed, numRuns: 12, endOnFailure: true },
  )
}, 120_000)

/** What an import says of its rows is what there is of them. */
async function expectTrueCounts({ client }: UpkeepWorld): Promise<void> {
  const { rows } = await client.query(`
    select import.id, status, count(row.id)::int as there, (import_stats(import.organization_id, import.id)->'counts'->>status)::int as told
    from imports import join import_rows row on row.organization_id = import.organization_id and row.import_id = import.id
    group by import.organization_id, import.id, status`)
  expect(rows.filter(({ there, told }) => there !== told)).toEqual([])
  const { rows: untrue } = await client.query(`
    select id, sum(told::int) as told, (select count(*) from import_rows row where row.import_id = import.id) as there
    from imports import cross join lateral json_each_text(import_stats(organization_id, id)->'counts') counts (status, told)
    group by organization_id, id having sum(told::int) <> (select count(*) from import_rows row where row.import_id = import.id)`)
  expect(untrue).toEqual([])
}
