import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withoutIndexes } from '../../../../../lab/bench/copy.ts'
import { explain, recordsRead } from '../../../../test/explain.ts'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { contacts } from '../../../crm/contacts/resource.ts'
import { allNotes } from '../../../crm/notes/resource.ts'
import { sessionOptions } from '../../database/database.ts'
import { toSql } from '../../database/fixed-statements.ts'
import type { Resource } from '../declare/define.ts'
import { organizationParameter, Parameter, type Sql } from '../../model/sql.ts'
import { planCount, planPage } from './page.ts'
import { parseFilters, parseList } from './parse.ts'
import { parseQuery } from '../request/query-string.ts'
import type { ReachLevel } from '../../model/reach.ts'
import type { Reader } from '../../model/caller.ts'

const size = 50_000
const organizationId = '00000000-0000-7000-8000-000000000001'
const idOf = (kind: string): string => `00000000-0000-7000-8000-0000000000${kind}`

/** Half of the contacts, one in 100 of them, the oldest thousand, or none. */
const owners = { half: idOf('a1'), few: idOf('a2'), oldest: idOf('a3'), nobody: idOf('a4') }
type Owner = keyof typeof owners
/** A team with the oldest thousand contacts. */
const teamId = idOf('b1')
const oldestCount = 1000

let testDatabase: TestDatabase
let client: pg.Client

beforeAll(async () => {
  testDatabase = await createDatabase()
  client = new pg.Client({ ...testDatabase.connection, options: sessionOptions })
  await client.connect()
  const organization = `'${organizationId}'::uuid`
  await client.query(`insert into organizations (id, name, slug) values (${organization}, 'One', 'one')`)
  await client.query(`insert into teams (organization_id, id, name, is_default)
    values (${organization}, ${organization}, 'Default', true), (${organization}, '${teamId}', 'Old', false)`)
  await client.query(`insert into root_contacts (organization_id, id) values (${organization}, ${organization})`)
  await withoutIndexes(client, ['contacts', 'notes'], async () => {
    await client.query(`insert into contacts (organization_id, id, name, root_contact_id, team_id, owner_id, created_at, updated_at)
      select ${organization}, md5('contact' || n)::uuid, 'Name ' || md5(n::text), ${organization},
        case when n <= ${oldestCount} then '${teamId}'::uuid else ${organization} end,
        case when n <= ${oldestCount} then '${owners.oldest}' when n % 2 = 0 then '${owners.half}'
          when n % 100 = 1 then '${owners.few}' end::uuid,
        timestamptz '2025-01-01Z' + n * interval '1 minute', timestamptz '2025-01-01Z' + n * interval '1 minute'
      from generate_series(1, ${size}) n`)
    await client.query(`insert into notes (organization_id, id, contact_id, body, created_at)
      select organization_id, md5('note' || id)::uuid, id, 'Called', created_at from contacts`)
  })
  await client.query('vacuum analyze')
}, 120_000)

afterAll(async () => {
  await client.end()
  await testDatabase.drop()
})

/** A person who sees so much of contacts, companies and deals; with teams, those of the oldest contacts. */
function readerWith(owner: Owner, level: ReachLevel): Reader {
  const userId = owners[owner]
  const teamIds = owner === 'oldest' ? [teamId] : []
  return {
    kind: 'session',
    userId,
    role: 'custom',
    reach: {
      levels: { contact: level, company: level, deal: level },
      userId: new Parameter(userId),
      teamIds: new Parameter(teamIds),
      colleagueIds: new Parameter([userId]),
      defaultTeamId: new Parameter(organizationId),
    },
  }
}

const scopeOf = (owner: Owner, level: ReachLevel) => ({
  organization: organizationParameter(organizationId),
  actor: readerWith(owner, level),
})

function pageOf(resource: Resource, query: string, owner: Owner, level: ReachLevel): Sql {
  const cursorScope = { key: Buffer.alloc(32), organizationId, list: resource.name, orderBy: '' }
  const request = parseList(resource, parseQuery(`/?limit=25&${query}`), () => cursorScope)
  return toSql(planPage(resource, request, scopeOf(owner, level)).statement)
}

/** The same page, by reading everything. */
const expectedIds = async (owner: Owner, orderBy: string): Promise<string[]> => {
  const { rows } = await client.query(
    `select 'con_' || replace(id::text, '-', '') as id from contacts where organization_id = $1 and owner_id = $2
     order by ${orderBy}, id ${orderBy.endsWith('desc') ? 'desc' : ''} limit 25`,
    [organizationId, owners[owner]],
  )
  return rows.map(({ id }) => id)
}

async function idsOn(statement: Sql): Promise<string[]> {
  const { text, values } = statement.render()
  const { rows } = await client.query(text, values)
  return JSON.parse(rows[0].text).map(({ id }: { id: string }) => id)
}

/** The first scan, the check whether there are more, the second scan, and twice what the person sees. */
const limits = {
  half: { inOrder: 60, page: 200 },
  few: { inOrder: 60, page: 4100 + 20_000 + 4 * 500 },
  oldest: { inOrder: 60, page: 4100 + 20_000 + 8 * oldestCount },
  nobody: { inOrder: 10, page: 4100 },
}

test.each(Object.keys(owners) as Owner[])(
  '%s: pages read what the person sees, not the organization',
  async (owner) => {
    const { inOrder, page } = limits[owner]
    for (const [query, level, max, orderBy] of [
      ['', 'own', inOrder, 'created_at desc'],
      ['orderBy=createdAt&sort=asc', 'own', inOrder, 'created_at'],
      ['orderBy=updatedAt', 'own', page, 'updated_at desc'],
      ['orderBy=updatedAt&filter.customProperties.plan.equals=null', 'own', page, 'updated_at desc'],
      ['', 'team', page, 'created_at desc'],
      ['orderBy=updatedAt', 'team', page, 'updated_at desc'],
    ] as const) {
      const statement = pageOf(contacts, query, owner, level)
      expect(await idsOn(statement), `${query} ${level}`).toEqual(await expectedIds(owner, orderBy))
      const read = recordsRead(await explain(client, statement))
      expect(read, `${query} ${level}`).toBeLessThanOrEqual(max)
    }
  },
)

test.each(Object.keys(owners) as Owner[])('%s: so do counts', async (owner) => {
  const [{ count }] = (
    await client.query('select count(*)::int as count from contacts where owner_id = $1', [owners[owner]])
  ).rows
  const { statement } = planCount(contacts, parseFilters(contacts, parseQuery('/')), scopeOf(owner, 'own'))
  const { text, values } = statement.render()
  expect((await client.query(text, values)).rows[0].count).toBe(String(count))
  expect(recordsRead(await explain(client, statement))).toBeLessThanOrEqual(count + 10)
})

test.each(['few', 'oldest', 'nobody'] as const)('%s: so do the notes of all contacts', async (owner) => {
  const statement = pageOf(allNotes, '', owner, 'own')
  const { rows } = await client.query(
    `select 'not_' || replace(note.id::text, '-', '') as id from notes note join contacts on contacts.id = contact_id
     where owner_id = $1 order by note.created_at desc, note.id desc limit 25`,
    [owners[owner]],
  )
  expect(await idsOn(statement)).toEqual(rows.map(({ id }) => id))
  // Each note also reads its contact.
  expect(recordsRead(await explain(client, statement))).toBeLessThanOrEqual(2 * limits[owner].page)
})
