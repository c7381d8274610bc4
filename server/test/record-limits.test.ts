import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources } from '../src/app.ts'
import { releaseFolder } from '../src/release.ts'
import { identifier, raw, sql } from '../src/platform/model/sql.ts'
import { createHeldLocks, type HeldLocks, uuidOf } from './held-locks.ts'
import { newOwner, type TestOwner } from './people.ts'
import { type Json, startTestService, type TestService } from './service.ts'

let service: TestService
let owner: TestOwner
let locks: HeldLocks
beforeAll(async () => {
  service = await startTestService()
  owner = await newOwner(service)
  locks = createHeldLocks(() => service.database)
})
afterAll(async () => {
  locks.restore()
  await service.close()
})

interface Limited {
  table: string
  max: number
  path: () => Promise<string>
  body: (name: string) => object
  /** Columns that must be unique. */
  uniques: string[]
  /** Their values in the copies, in SQL. */
  copyOf?: string
  /** Other values of the copies, in SQL. */
  more?: string
  /** What makes room instead of DELETE. */
  end?: (id: string) => [method: string, path: string]
}

async function pathOfStages(): Promise<string> {
  const { body } = await owner.call('GET', '/v5/pipelines?sort=asc&limit=1')
  return `/v5/pipelines/${body[0].id}/stages`
}

const named = (path: string, table: string, max: number, more: object = {}): Limited => ({
  table,
  max,
  path: async () => path,
  body: (name) => ({ name, ...more }),
  uniques: ['name'],
})

const limited: Limited[] = [
  {
    ...named('/v5/views', 'views', 5000, { resource: 'contacts' }),
    uniques: [],
    more: `, 'owner_id', gen_random_uuid()`,
  },
  named('/v5/teams', 'teams', 500),
  named('/v5/pipelines', 'pipelines', 100),
  named('/v5/roles', 'roles', 200, { scopes: ['contact:list:read'] }),
  named('/v5/imports', 'imports', 500),
  {
    ...named('/v5/api-keys', 'api_keys', 500, { scopes: ['urn:service:contact:list:read'] }),
    end: (id) => ['POST', `/v5/api-keys/${id}/revoke`],
  },
  {
    ...named('/v5/webhooks', 'webhooks', 100),
    body: () => ({ url: 'https://example.com', events: ['contact.*'], scopes: ['contact:list:read'] }),
    uniques: [],
  },
  {
    ...named('/v5/properties', 'properties', 500),
    body: (key) => ({ resource: 'companies', key, label: key, type: 'text' }),
    uniques: ['key'],
    copyOf: `'copy' || n`,
  },
  {
    ...named('/v5/invitations', 'invitations', 1000),
    body: (name) => ({ email: `${name}@example.com`, role: 'viewer' }),
    uniques: ['email', 'email_key'],
  },
  {
    ...named('', 'stages', 100, { kind: 'open' }),
    path: pathOfStages,
    uniques: ['position'],
  },
]

/** Copies a record until the organization has as many as it can have, less `free`. */
async function fill(
  { table, max, uniques, copyOf = `'copy' || n || '@example.com'`, more = '' }: Limited,
  id: string,
  free: number,
): Promise<void> {
  const { database } = service
  const columns = await database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select column_name as name from information_schema.columns
      where table_name = ${table} and is_generated = 'NEVER' and table_schema = 'public'`,
  )
  const names = raw(columns.map(({ name }) => `"${name}"`).join(', '))
  const unique = raw(uniques.map((name) => `, '${name}', ${name === 'position' ? '100 + n' : copyOf}`).join(''))
  const hash = raw(table === 'api_keys' ? `, 'hash', sha256(n::text::bytea)` : '')
  const ofParent = raw(table === 'stages' ? 'and other.pipeline_id = one.pipeline_id' : '')
  const counted = raw(resources.find((resource) => resource.table === table)?.limit?.counted ?? 'true')
  await database.crossTenantQuery(
    'check the database',
    sql`insert into ${identifier(table)} (${names})
      select ${names} from (select copy.* from ${identifier(table)} one, lateral generate_series(1, ${max - free}::integer - (
          select count(*)::integer from ${identifier(table)} other
          where other.organization_id = one.organization_id and ${counted} ${ofParent})) n,
        lateral jsonb_populate_record(null::${identifier(table)},
          to_jsonb(one) || jsonb_build_object('id', gen_random_uuid(), 'copy', n${unique}${hash}${raw(more)})) copy
        where one.id = ${uuidOf(id)}) copies`,
  )
}

const reached = { status: 409, body: { code: 'limit_reached', status: 409, message: 'Limit reached' } }

test('every resource with a limit is tested here, and the guide names each limit', async () => {
  const declared = resources.flatMap(({ table, limit }) => (limit ? [[table, limit.max]] : []))
  expect(limited.map(({ table, max }) => [table, max]).sort()).toEqual(declared.sort())
  const guide = await readFile(join(releaseFolder, 'docs/guides/api.md'), 'utf8')
  const [, limits = ''] = /^An organization can have at most ([^]+?)`limit_reached`/m.exec(guide) ?? []
  for (const { table, max } of limited) {
    const noun = table.replace('api_keys', 'API keys')
    expect(limits.replaceAll(/\s+/g, ' ')).toMatch(new RegExp(`${max.toLocaleString('en')} (?:\\w+ )?${noun}`))
  }
})

test.each(limited)('an organization can have at most $max $table, also if several are created at once', async (one) => {
  const path = await one.path()
  const create = (name: string) => owner.call('POST', path, { body: one.body(name) })
  const first = await create('first')
  expect(first.status, first.text).toBe(201)
  await fill(one, first.body.id, 1)
  const made = await Promise.all(['a1', 'a2', 'a3', 'a4'].map(create))
  expect(made.map(({ status }) => status).sort(), made[0]?.text).toEqual([201, 409, 409, 409])
  const refused = made.find(({ status }) => status === 409)
  expect(refused).toMatchObject(reached)
  expect(refused?.body.description).toContain(`can have at most ${one.max}`)
  // One fewer makes room for one, and a deleted one comes back only if there is room.
  const [method, ending] = one.end?.(first.body.id) ?? ['DELETE', `${path}/${first.body.id}`]
  expect((await owner.call(method, ending)).status).toBeLessThan(300)
  expect((await create('next')).status).toBe(201)
  expect(await create('more')).toMatchObject(reached)
  const restored = await owner.call('POST', `${path}/${first.body.id}/restore`)
  if (restored.status !== 404) expect(restored).toMatchObject(reached)
  // The other organizations are not concerned.
  const other = await newOwner(service)
  const elsewhere = one.table === 'stages' ? undefined : await other.call('POST', path, { body: one.body('first') })
  expect(elsewhere?.status ?? 201).toBe(201)
})

test('a request that adds the last record waits for one that is adding it, and is refused after it', async () => {
  const another = await newOwner(service)
  const create = (name: string) => another.call('POST', '/v5/teams', { body: { name } })
  const { body } = (await create('first')) as { body: Json }
  const teams = limited.find(({ table }) => table === 'teams') as Limited
  await fill(teams, body.id as string, 1)
  const organization = uuidOf(another.organizationId)
  const held = {
    lock: sql`select from teams where organization_id = ${organization} and is_default for no key update`,
    meanwhile: sql`insert into teams (organization_id, id, name) values (${organization}, gen_random_uuid(), 'last')`,
  }
  expect(await locks.whileHeld(held, () => create('too many'))).toMatchObject(reached)
})

test('one person has at most 200 views, so that the personal ones of one take no room of the others', async () => {
  const { call } = await newOwner(service)
  const create = (name: string) => call('POST', '/v5/views', { body: { name, resource: 'contacts' } })
  const { body: first } = await create('first')
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into views select copy.* from views one, generate_series(1, 198) n,
      lateral jsonb_populate_record(null::views, to_jsonb(one) || jsonb_build_object('id', gen_random_uuid(), 'copy', n)) copy
      where one.id = ${uuidOf(first.id)}`,
  )
  expect((await Promise.all(['a', 'b', 'c'].map(create))).map(({ status }) => status).sort()).toEqual([201, 409, 409])
  const refused = await create('more')
  expect(refused).toMatchObject(reached)
  expect(refused.body.description).toContain('You have 200 views')
  expect((await call('DELETE', `/v5/views/${first.id}`)).status).toBe(204)
  expect((await create('next')).status).toBe(201)
  expect((await call('POST', `/v5/views/${first.id}/restore`)).status).toBe(409)
})
