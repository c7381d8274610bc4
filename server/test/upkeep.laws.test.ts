import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seed } from './seed.ts'
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

/** What one organization holds: numbers choose among what stands before. */
const holding = fc.record({
  teams: part({ deleted: deletedDays }, 3),
  companies: part({ deleted: deletedDays }, 4),
  campaigns: part({ deleted: deletedDays }, 3),
  contacts: part({ deleted: deletedDays, team: pick, company: pick, root: pick }, 8),
  employments: part({ deleted: deletedDays, contact: pick }, 6),
  notes: part({ deleted: deletedDays, contact: pick }, 6),
  imports: part({ deleted: deletedDays, team: pick }, 4),
  rows: part({ import: pick, status: fc.constantFrom(...statuses), finished: fc.constantFrom(0, 89.9, 90.1, 300) }, 12),
  keys: part({ import: pick, days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  triggers: part({ import: pick, days: fc.constantFrom(null, -1, 0.01, 3) }, 4),
  answers: part({ days: fc.constantFrom(0, 0.99, 1.01, 5) }, 4),
  sessions: part({ ended: fc.constantFrom(null, 1, 29.9, 30.1), lapsed: fc.constantFrom(-1, 1, 29.9, 30.1) }, 4),
  left: part({ root: pick, days: fc.constantFrom(0, 0.04, 0.05, 3) }, 4),
})
type Holding = typeof holding extends fc.Arbitrary<infer Value> ? Value : never

type Stored = Record<string, unknown>
/** Rows by table, each with whether it has to stay. */
type Expected = Map<string, { row: Stored; stays: boolean }[]>

const at = <Item>(items: readonly Item[], index: number): Item | undefined =>
  items.length === 0 ? undefined : items[index % items.length]

type Keep = <Row extends { row: Stored; stays: boolean }>(table: string, rows: Row[]) => Promise<void>

const since = (days: number | null): string | null => (days === null ? null : ago(days))
const stays = (row: Stored, isOver: boolean): { row: Stored; stays: boolean } => ({ row, stays: !isOver })
const hash = (): string => `\\x${randomUUID().replaceAll('-', '')}`

/** Stores what was drawn and tells what has to be left of it, by rules of its own. */
async function store(world: UpkeepWorld, drawn: Holding): Promise<Expected> {
  const organization_id = randomUUID()
  const userId = randomUUID()
  const expected: Expected = new Map()
  const keep: Keep = async (table, rows) => {
    await world.insert(
      table,
      rows.map(({ row }) => row),
    )
    expected.set(table, rows)
  }
  await keep('organizations', [stays({ id: organization_id, name: 'Any', slug: organization_id }, false)])
  await keep('users', [stays({ id: userId, email: `${userId}@a.com`, email_key: `${userId}@a.com`, name: 'A' }, false)])
  const records = recordsOf(organization_id, drawn)
  for (const { root, days } of drawn.left) {
    const left = at(records.root_contacts, root)
    const isNeeded = records.contacts.some(({ stays: isKept, ofRoot }) => isKept && ofRoot === left)
    if (left && days > 1 / 24 && !isNeeded) left.stays = false
    if (left) await world.insert('root_contacts_left', [{ organization_id, id: left.row.id, left_at: ago(days) }])
  }
  for (const table of [
    'root_contacts',
    'teams',
    'companies',
    'campaigns',
    'contacts',
    'imports',
    'import_rows',
  ] as const)
    await keep(table, records[table])
  await storeWithin(organization_id, drawn, records, keep)
  await storeExpiring({ organization_id, userId }, drawn, records, keep)
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
  const campaigns = drawn.campaigns.map(({ deleted }) => deletable(deleted, { name: 'Any' }))
  return { root_contacts: roots, teams, companies, campaigns, contacts, imports, import_rows: rows }
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
  }
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

const keysOf = ['id', 'contact_id', 'company_id', 'key_hash', 'hash'] as const
/** What tells a row of a table from the others of it. */
const identity = (row: Stored): string =>
  typeof row.id === 'string' ? row.id : keysOf.map((name) => String(row[name] ?? '')).join()

/** Everything that a table holds, whole, by identity. */
async function read(world: UpkeepWorld, table: string): Promise<Map<string, Stored>> {
  const { rows } = await world.client.query<{ row: Stored }>(`select to_json(stored) as row from ${table} stored`)
  return new Map(rows.map(({ row }) => [identity(row), row]))
}

test('what has to go goes, and nothing else changes by a byte, in whatever organization', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(holding, { minLength: 1, maxLength: 3 }), async (organizations) => {
      const expected: Expected[] = []
      for (const drawn of organizations) expected.push(await store(world, drawn))
      const tables = [...new Set(expected.flatMap((one) => [...one.keys()]))]
      const before = new Map<string, Map<string, Stored>>()
      for (const table of tables) before.set(table, await read(world, table))
      await world.round()
      for (const table of tables) {
        const kept = new Map(before.get(table))
        for (const { row, stays } of expected.flatMap((one) => one.get(table) ?? [])) {
          const whole = kept.get(identity(row))
          if (!stays) kept.delete(identity(row))
          // A company that is gone leaves nothing of itself in its contacts.
          else if (table === 'contacts' && whole) whole.company_id = row.company_id
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
