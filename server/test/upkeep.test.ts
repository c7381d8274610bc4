import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { serviceActor } from '../src/platform/model/caller.ts'
import { sql } from '../src/platform/model/sql.ts'
import {
  findExpired,
  type RetentionPolicy,
  purge,
  purgeWithoutDependents,
} from '../src/platform/maintenance/retention-store.ts'
import { createMaintenance } from '../src/platform/maintenance/maintenance.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { contactStore } from '../src/resources/contacts/store.ts'
import { until } from './processes.ts'
import { ago, importRowsDays, upkeepWorld, type UpkeepWorld } from './upkeep-world.ts'

let world: UpkeepWorld
let organization_id: string
let team_id: string
beforeAll(async () => {
  world = await upkeepWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  organization_id = randomUUID()
  team_id = randomUUID()
  await world.insert('organizations', [{ id: organization_id, name: 'Any', slug: organization_id }])
  await world.insert('teams', [{ organization_id, id: team_id, name: 'Home', is_default: true }])
  await world.client.query('delete from root_contacts_left')
  for (const name of Object.keys(world.purged)) delete world.purged[name]
  world.logged.length = 0
})

const all = () => retentionPolicies({ importRowsDays })
function named(name: string): RetentionPolicy {
  const found = all().find((one) => one.name === name)
  if (!found) throw new Error(`nothing perishable is called ${name}`)
  return found
}

/** Contacts of this test, deleted so many days ago or there; their ids. */
async function addContacts(count: number, { days, company_id = null }: { days?: number; company_id?: string | null }) {
  const ids = Array.from({ length: count }, () => randomUUID())
  await world.insert(
    'root_contacts',
    ids.map((id) => ({ organization_id, id })),
  )
  const deleted_at = days === undefined ? null : ago(days)
  await world.insert(
    'contacts',
    ids.map((id) => ({ organization_id, id, name: 'Any', team_id, root_contact_id: id, company_id, deleted_at })),
  )
  return ids
}
const ofThis = (where = 'true') => `organization_id = '${organization_id}' and ${where}`

test('a contact goes with everything that lives in it, however much that is, in steps', async () => {
  const [id = ''] = await addContacts(1, { days: 31 })
  await addContacts(1, {})
  const jobs = Array.from({ length: 1234 }, () => ({
    organization_id,
    id: randomUUID(),
    contact_id: id,
    organization: 'Any',
  }))
  await world.insert('employments', jobs)
  await world.insert(
    'notes',
    jobs.map((job) => ({ organization_id, id: job.id, contact_id: id, body: 'Any' })),
  )
  const steps: unknown[] = []
  for (let isPart = true; isPart;) {
    const step = await purge(world.database, named('contacts'), {
      organizationId: organization_id,
      keys: [[id]],
      limit: 500,
    })
    steps.push(step?.removed)
    isPart = step?.isPartial ?? false
  }
  expect(steps).toEqual([
    { employments: 500 },
    { employments: 500 },
    { employments: 234, notes: 500 },
    { employments: 0, notes: 500 },
    { employments: 0, notes: 234, contacts: 1 },
  ])
  expect(await world.count('contacts', ofThis())).toBe(1)
})

test('an import that is long gone goes with its rows, in steps; its counts go too', async () => {
  const [id, gone] = [randomUUID(), randomUUID()]
  await world.insert('imports', [
    { organization_id, id, name: 'Stays', team_id, deleted_at: null },
    { organization_id, id: gone, name: 'Goes', team_id, deleted_at: ago(31) },
  ])
  for (const import_id of [id, gone]) {
    await world.insert(
      'import_rows',
      Array.from({ length: 700 }, () => ({
        organization_id,
        id: randomUUID(),
        import_id,
        status: 'PROCESSED',
        payload: {},
        finished_at: ago(1),
      })),
    )
  }
  await world.round()
  expect(world.purged).toEqual({ imports: 1, rows: 700 })
  expect(await world.count('import_rows', ofThis(`import_id = '${id}'`))).toBe(700)
  expect(await world.count('import_row_counts', ofThis(`import_id = '${gone}'`))).toBe(0)
})

test('a company that is long gone lets go of its contacts, however many there are; what they show stays the same', async () => {
  const id = randomUUID()
  await world.insert('companies', [{ organization_id, id, name: 'Engines', deleted_at: ago(31) }])
  await addContacts(700, { company_id: id })
  const documents = () =>
    world.client.query(
      `select id, contact_document(contacts) as document, revision, updated_at from contacts where ${ofThis()} order by id`,
    )
  const before = (await documents()).rows
  await world.round()
  expect(await world.count('companies', ofThis())).toBe(0)
  expect(await world.count('contacts', ofThis('company_id is null'))).toBe(700)
  expect((await documents()).rows).toEqual(before)
})

test('a contact that someone holds keeps its company from going, and nobody waits for it', async () => {
  const id = randomUUID()
  await world.insert('companies', [{ organization_id, id, name: 'Engines', deleted_at: ago(31) }])
  const [held = ''] = await addContacts(3, { company_id: id })
  await world.client.query('begin')
  await world.client.query(`select from contacts where ${ofThis(`id = '${held}'`)} for update`)
  await world.round()
  await world.client.query('commit')
  // Who waits for a lock that nobody gives back fails, and that would be told.
  expect(world.logged).toEqual([])
  expect(await world.count('companies', ofThis())).toBe(1)
  expect(await world.count('contacts', ofThis(`company_id is not null`))).toBe(1)
  await world.round()
  expect(await world.count('companies', ofThis())).toBe(0)
  expect(world.logged).toEqual([])
})

test('the person behind contacts goes an hour after the last of them, and not while another contact needs them', async () => {
  const [first = '', second = ''] = await addContacts(2, { days: 31 })
  await world.client.query(
    `update contacts set root_contact_id = '${second}', deleted_at = null where ${ofThis(`id = '${second}'`)}`,
  )
  await addContacts(1, {})
  await world.client.query(`update contacts set root_contact_id = '${first}' where ${ofThis(`id = '${second}'`)}`)
  const backdate = () => world.client.query(`update root_contacts_left set left_at = now() - interval '61 minutes'`)
  await world.round()
  expect(world.purged).toEqual({ contacts: 1 })
  expect(await world.count('root_contacts', ofThis())).toBe(3)
  await backdate()
  await world.round()
  // The second contact has taken the first one's person, and left its own.
  expect(world.purged).toEqual({ contacts: 1, root_contacts: 1 })
  expect(await world.count('root_contacts', ofThis(`id = '${second}'`))).toBe(0)
  expect(await world.count('root_contacts_left')).toBe(0)
})

test('a contact that is made while its person goes gets another one, and no error', async () => {
  const [id = ''] = await addContacts(1, {})
  await world.client.query(`update root_contacts set email_key = 'ada@example.com' where ${ofThis()}`)
  await world.client.query(`delete from contacts where ${ofThis(`id = '${id}'`)}`)
  let tries = 0
  const other = new pg.Client(world.connection)
  await other.connect()
  await world.database.transaction(serviceActor('maintenance', organization_id), async (transaction) => {
    tries++
    if (tries === 1) {
      // As if the purge came right behind the look for the person.
      await transaction.query(sql`select set_config('lock_timeout', '2s', true), ${transaction.organization}`)
      await other.query(`delete from root_contacts where ${ofThis()}`)
      await transaction.query(sql`insert into contacts (organization_id, id, name, team_id, root_contact_id)
        values (${transaction.organization}, ${randomUUID()}, 'Ada', ${team_id}, ${id})`)
    }
    await contactStore.write(transaction, [{ kind: 'create', values: { email: 'ada@example.com' }, columns: {} }])
  })
  await other.end()
  expect(tries).toBe(2)
  expect(await world.count('contacts', ofThis(`root_contact_id <> '${id}'`))).toBe(1)
})

test('a person who goes between being known and being looked up is made again', async () => {
  const [id = ''] = await addContacts(1, {})
  await world.client.query(`update root_contacts set email_key = 'ada@example.com' where ${ofThis()}`)
  await world.client.query(`delete from contacts where ${ofThis(`id = '${id}'`)}`)
  // As if the purge, which only held the person when that one was found to be there, ended right then.
  await world.client.query(`
    create function take_away() returns trigger language plpgsql as $$ begin
      delete from root_contacts where id = '${id}';
      return null;
    end $$;
    create trigger take_away after insert on root_contacts for each statement execute function take_away()`)
  await world.database.transaction(serviceActor('maintenance', organization_id), async (transaction) => {
    await contactStore.write(transaction, [{ kind: 'create', values: { email: 'ada@example.com' }, columns: {} }])
  })
  await world.client.query('drop trigger take_away on root_contacts; drop function take_away')
  expect(await world.count('contacts', ofThis(`root_contact_id <> '${id}'`))).toBe(1)
})

test('what comes back between being found and being purged stays', async () => {
  const ids = await addContacts(20, { days: 31 })
  const due = await findExpired(world.database, named('contacts'), { limit: 100, after: undefined })
  expect(new Set(due.map(({ key: [id] }) => id))).toEqual(new Set(ids))
  const [restored = ''] = ids
  await world.client.query(`update contacts set deleted_at = null where ${ofThis(`id = '${restored}'`)}`)
  await purge(world.database, named('contacts'), {
    organizationId: organization_id,
    keys: ids.map((id) => [id]),
    limit: 500,
  })
  expect(await world.count('contacts', ofThis())).toBe(1)
})

test('keys of one organization never purge what another one has under the same', async () => {
  const [id = ''] = await addContacts(1, { days: 31 })
  const first = organization_id
  organization_id = randomUUID()
  await world.insert('organizations', [{ id: organization_id, name: 'Other', slug: organization_id }])
  await world.insert('teams', [{ organization_id, id: team_id, name: 'Home', is_default: true }])
  await world.insert('root_contacts', [{ organization_id, id }])
  await world.insert('contacts', [
    { organization_id, id, name: 'Same', team_id, root_contact_id: id, deleted_at: ago(31) },
  ])
  await world.insert('notes', [{ organization_id, id, contact_id: id, body: 'Same' }])
  await purge(world.database, named('contacts'), { organizationId: first, keys: [[id]], limit: 500 })
  expect(await world.count('contacts', ofThis())).toBe(1)
  expect(await world.count('notes', ofThis())).toBe(1)
  expect(await world.count('contacts', `organization_id = '${first}'`)).toBe(0)
  await world.round()
})

test('what is purged for all organizations at once is told apart by organization, and looked at again', async () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()]
  const made = ids.map((id) => ({ organization_id, id, import_id: id, payload: {}, status: 'PROCESSED' }))
  const first = organization_id
  for (let organization = 0; organization < 2; organization++) {
    await world.insert(
      'imports',
      ids.map((id) => ({ organization_id, id, name: 'Any', team_id })),
    )
    await world.insert(
      'import_rows',
      made.map((row) => ({ ...row, organization_id, finished_at: ago(91) })),
    )
    organization_id = randomUUID()
    await world.insert('organizations', [{ id: organization_id, name: 'Other', slug: organization_id }])
    await world.insert('teams', [{ organization_id, id: team_id, name: 'Home', is_default: true }])
  }
  const everyone = await findExpired(world.database, named('rows'), { limit: 100, after: undefined })
  expect(everyone).toHaveLength(6)
  const due = everyone.filter(({ organizationId }) => organizationId === first)
  // Tried again, and ended again, since it was found.
  await world.client.query(
    `update import_rows set finished_at = now() where id = '${ids[0]}' and organization_id = '${first}'`,
  )
  const step = await purgeWithoutDependents(world.database, named('rows'), due)
  expect(step).toEqual({ removed: { rows: 2 }, isPartial: false })
  expect(await world.count('import_rows', `organization_id = '${first}'`)).toBe(1)
  expect(await world.count('import_rows', `id = any('{${ids.join()}}')`)).toBe(4)
  await world.round()
})

test('one process purges at a time; several that try at once share, and purge each thing once', async () => {
  await addContacts(2000, { days: 31 })
  await world.client.query('begin')
  await world.client.query(`select pg_advisory_xact_lock(hashtextextended('upkeep', 0))`)
  await world.round()
  expect(world.purged).toEqual({})
  await world.client.query('rollback')
  const rounds = [world.rounds(), world.rounds(), world.rounds()]
  while ((await world.count('contacts', ofThis())) > 0) await Promise.all(rounds.map((one) => one.run()))
  expect(world.purged).toEqual({ contacts: 2000 })
  expect(world.logged).toEqual([])
})

test('connections that are cut again and again leave nothing half done, and nothing undone', async () => {
  const ids = await addContacts(800, { days: 31 })
  await world.insert(
    'notes',
    ids.map((id) => ({ organization_id, id, contact_id: id, body: 'Any' })),
  )
  const alive = await addContacts(50, {})
  await world.insert(
    'notes',
    alive.map((id) => ({ organization_id, id, contact_id: id, body: 'Any' })),
  )
  let cuts = 0
  let isDone = false
  const cutting = (async () => {
    while (!isDone) {
      const { rowCount } = await world.client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
      )
      cuts += rowCount ?? 0
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (cuts > 10) isDone = true
    }
  })()
  const rounds = world.rounds()
  while (!isDone) {
    await rounds.run()
    // More to do until it was cut often enough.
    await world.client.query(`update contacts set deleted_at = '${ago(31)}' where ${ofThis('deleted_at is not null')}`)
    if ((await world.count('contacts', ofThis('deleted_at is not null'))) === 0) await addContacts(500, { days: 31 })
  }
  await cutting
  await world.round()
  await world.round()
  expect(await world.count('contacts', ofThis())).toBe(50)
  expect(await world.count('notes', ofThis())).toBe(50)
})

test('a purge that fails is told once a minute and tried again; the others go on', async () => {
  await addContacts(3, { days: 31 })
  await world.insert('campaigns', [{ organization_id, id: randomUUID(), name: 'Any', deleted_at: ago(31) }])
  await world.client.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'planted'; end $$;
    create trigger planted before delete on contacts for each row execute function refuse()`)
  const rounds = world.rounds()
  for (let round = 0; round < 3; round++) await rounds.run()
  expect(world.logged.map((line) => JSON.parse(line))).toMatchObject([{ of: 'contacts', error: 'planted' }])
  expect(world.purged).toEqual({ campaigns: 1 })
  await world.client.query('drop trigger planted on contacts; drop function refuse')
  await rounds.run()
  expect(world.purged).toEqual({ campaigns: 1, contacts: 3 })
})

test('an upkeep that is closed stops after the step under way', async () => {
  await addContacts(2500, { days: 31 })
  const upkeep = createMaintenance({
    database: world.database,
    log: { error: () => undefined } as never,
    rendered: [],
    retentionPolicies: all(),
    ready: Promise.resolve(),
    purged: () => undefined,
  })
  await until('the first step is done', async () => (await world.count('contacts', ofThis())) < 2500)
  await upkeep.close()
  const left = await world.count('contacts', ofThis())
  expect(left).toBeGreaterThan(500)
  await world.round()
  expect(await world.count('contacts', ofThis())).toBe(0)
})

test('what is overdue by an hour is found in the order of time, and on from a place', async () => {
  for (const days of [33, 31, 32]) await addContacts(2, { days })
  const first = await findExpired(world.database, named('contacts'), { limit: 3, after: undefined })
  const rest = await findExpired(world.database, named('contacts'), { limit: 10, after: first.at(-1) })
  const times = [...first, ...rest].map(({ since }) => since)
  expect(times).toHaveLength(6)
  expect(times).toEqual([...times].sort())
  expect(new Set([...first, ...rest].map(({ key: [id] }) => id)).size).toBe(6)
})

test('with a retention of 0 days rows are kept for ever', () => {
  expect(retentionPolicies({ importRowsDays: 0 }).map(({ name }) => name)).not.toContain('rows')
  expect(retentionPolicies({ importRowsDays: 1 }).map(({ name }) => name)).toContain('rows')
})
