import { insertSession, sessionLive } from '../../server/src/identity/access/store.ts'
import { withReach } from '../../server/src/identity/access/custom-role-store.ts'
import { Database, type Connection } from '../../server/src/platform/database/database.ts'
import type { Caller } from '../../server/src/platform/model/caller.ts'
import { newId } from '../../server/src/platform/model/ids.ts'
import { planPage } from '../../server/src/platform/records/page/page.ts'
import { parseList } from '../../server/src/platform/records/page/parse.ts'
import { readPage, readRecord, scopeOf } from '../../server/src/platform/records/page/read.ts'
import { writeOne } from '../../server/src/platform/records/write/store.ts'
import { contacts } from '../../server/src/crm/contacts/resource.ts'
import { contactStore } from '../../server/src/crm/contacts/store.ts'
import { concurrency, perTurn, time } from './history.ts'
import { rotate } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import type { Testbed } from './stage.ts'
import type { ReachLevel } from '../../server/src/platform/model/reach.ts'

/** Turns per person and second of the options. */
const turnsPerSecond = 8
const warmUpTurns = 4

interface Work {
  level: ReachLevel
  run(database: Database, caller: Caller, id: string): Promise<unknown>
}

const page = (database: Database, caller: Caller) => {
  const db: Connection = database.reader(caller)
  const cursorScope = { key: Buffer.alloc(32), organizationId: caller.organizationId, list: contacts.name, orderBy: '' }
  const request = parseList(contacts, [], () => cursorScope)
  return readPage(db, contacts, planPage(contacts, request, scopeOf(db, undefined)), undefined)
}

const works: Readonly<Record<string, Work>> = {
  [rowNames.reachOne]: {
    level: 'all',
    run: (database, caller, id) => readRecord(database.reader(caller), contacts, id),
  },
  [rowNames.reachPage]: { level: 'all', run: page },
  [rowNames.reachChange]: {
    level: 'all',
    run: (database, caller, id) =>
      database.transaction(caller, (transaction) =>
        writeOne(contactStore, transaction, { kind: 'update', id, values: { city: `City ${Math.random()}` } }),
      ),
  },
  [rowNames.reachOwn]: { level: 'own', run: page },
  [rowNames.reachTeam]: { level: 'team', run: page },
}

/**
 * Measures what the reach of a role adds: the service's own reads and writes, without HTTP, for a person with a custom
 * role and, as the floor, with a built-in one.
 */
export async function measureReach(stage: Testbed, sample: Sample, names: readonly string[]): Promise<Row[]> {
  const wanted = Object.entries(works).filter(([name]) => names.includes(name))
  if (wanted.length === 0) return []
  const database = new Database({ connection: stage.connection, size: concurrency })
  const people = await addPeople(stage, database)
  const rows: Row[] = []
  for (const [name, { level, run }] of wanted) {
    stage.log(`${name}…`)
    const measured: Record<'service' | 'floor', Measurement[]> = { service: [], floor: [] }
    const turns = warmUpTurns + Math.ceil(stage.options.rounds * stage.options.seconds * turnsPerSecond)
    for (let turn = 0; turn < turns; turn++) {
      const ids = Array.from(
        { length: perTurn(stage.options) },
        (_, index) => sample.ids[index % sample.ids.length] ?? '',
      )
      for (const kind of rotate(['service', 'floor'] as const, turn)) {
        const caller = kind === 'floor' ? people.builtIn : people[level]
        measured[kind].push(await time(ids, (id) => run(database, caller, id)))
      }
    }
    rows.push(
      rowOf({
        name,
        connections: null,
        service: figuresOf(measured.service.slice(warmUpTurns)),
        floor: figuresOf(measured.floor.slice(warmUpTurns)),
        driver: null,
        memory: [undefined, undefined],
        databaseMemory: undefined,
      }),
    )
  }
  await database.close()
  // Imports only match contacts of the default team.
  await stage.client.query(
    `update contacts set team_id = (select id from teams where organization_id = $1 and is_default)
     where organization_id = $1 and team_id in (select id from teams where organization_id = $1 and name = 'Reach')`,
    [stage.measured.organizationId],
  )
  return rows
}

type People = Record<ReachLevel | 'builtIn', Caller>

/** A member, and one person for each reach: they own one contact in 100, and their team has the oldest two percent. */
async function addPeople(
  { client, measured: { organizationId, teamId } }: Testbed,
  database: Database,
): Promise<People> {
  const { rows: teams } = await client.query<{ id: string }>(
    `insert into teams (organization_id, id, name, is_default) values ($1, gen_random_uuid(), 'Reach', false) returning id`,
    [organizationId],
  )
  const add = async (level: ReachLevel | undefined): Promise<Caller> => {
    const [userId, sessionId, roleId] = [newId(), newId(), newId()]
    const reach: Record<string, ReachLevel> = level === undefined || level === 'all' ? {} : { contact: level }
    await client.query(
      `insert into users (id, email, email_key, name) values ($1::uuid, $1::text, $1::text, 'Reach')`,
      [userId],
    )
    await client.query(`insert into roles (organization_id, id, name, reach) values ($1, $2::uuid, $2::text, $3)`, [
      organizationId,
      roleId,
      JSON.stringify(reach),
    ])
    const customRole = level === undefined ? null : { id: roleId, revision: 1, scopes: [], reach }
    const role = customRole ? 'custom' : 'member'
    await client.query('insert into members (organization_id, user_id, role, role_id) values ($1, $2, $3, $4)', [
      organizationId,
      userId,
      role,
      customRole?.id ?? null,
    ])
    await client.query(
      'insert into team_members (organization_id, team_id, id) values ($1, $2, $3) on conflict do nothing',
      [organizationId, teamId, userId],
    )
    const session = insertSession({
      id: sessionId,
      userId,
      organizationId,
      nonce: Buffer.alloc(0),
      startedAt: new Date(),
      userAgent: null,
      address: null,
      deviceHash: null,
      isStrong: false,
      allowsSensitiveActions: false,
      begunBy: null,
    })
    await client.query(session.render())
    if (level === 'team')
      await client.query('insert into team_members (organization_id, team_id, id) values ($1, $2, $3)', [
        organizationId,
        teams[0]?.id,
        userId,
      ])
    if (level === 'own')
      await client.query(
        `update contacts set owner_id = $2 where organization_id = $1 and hashtext(id::text) % 100 = 0`,
        [organizationId, userId],
      )
    const live = sessionLive({ id: sessionId, organizationId, role, customRole, isCurrent: false })
    const caller: Caller = {
      kind: 'session',
      credentialId: sessionId,
      userId,
      organizationId,
      scopes: [],
      role,
      allowedAddresses: [],
      expiresAt: null,
      live,
    }
    return customRole ? withReach(database, caller, customRole) : caller
  }
  await client.query(
    `update contacts set team_id = $2 where organization_id = $1 and id in (
       select id from contacts where organization_id = $1 order by created_at, id
       limit (select count(*) / 50 from contacts where organization_id = $1))`,
    [organizationId, teams[0]?.id],
  )
  const people = {
    builtIn: await add(undefined),
    all: await add('all'),
    own: await add('own'),
    team: await add('team'),
  }
  await client.query('analyze contacts')
  return people
}
