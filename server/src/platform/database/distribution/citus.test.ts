import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectionsWith, createFixture } from '../../../../test/collections.ts'
import type { Fixture } from '../../../../test/fixture.ts'
import { fullBody, isFixed } from '../../../../test/samples.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { tablesByPlace } from '../../../places.ts'
import { alone, combinable, prepared, type Sql, sql } from '../../model/sql.ts'
import { citus } from './citus.ts'
import { single } from './single.ts'

// The statements for Citus also work on a single PostgreSQL.

let service: TestService
let fixture: Fixture
beforeAll(async () => {
  service = await startTestService()
  service.database.useEngine(citus(tablesByPlace.organization))
  fixture = await createFixture(service)
})
afterAll(() => service.close())

test.each<[string, boolean, Sql]>([
  ['prepared', true, prepared(sql`select id from contacts where id = ${1}`)],
  ['not prepared', true, combinable(sql`update "contacts" record set name = ''`)],
  ['about another table in the same place', true, prepared(sql`insert into contact_edits select 1 returning field`)],
  ['about a table that it joins', true, prepared(sql`select from unnest(${[]}) x join contacts on true`)],
  ['about people', false, prepared(sql`select id from users where email = ${'from contacts'}`)],
  ['about no table', false, prepared(sql`select now()`)],
  ['not combinable', false, sql`select id from contacts`],
  ['sent on its own', false, alone(prepared(sql`select id from contacts`))],
])('a statement that is %s runs with the records of its organization: %s', (_, isOnShard, statement) => {
  const send = () => Promise.reject(new Error('nothing is sent'))
  const combine = citus(['contacts', 'contact_edits']).combine('')
  expect(combine?.(send).takes(statement)).toBe(isOnShard)
  expect(single.combine('')).toBeUndefined()
})

let index = 0

test.each(collectionsWith('create', 'get', 'update', 'delete', 'restore'))(
  '%s are created, changed, deleted and restored with the statements for Citus',
  async (_, collection) => {
    const { resource } = collection
    const nextBody = () => fullBody(resource, ++index, fixture.references)
    const headers = { 'idempotency-key': randomUUID() }
    const body = nextBody()
    const created = await fixture.request(collection.create, { params: fixture.params(collection), body, headers })
    expect(created).toMatchObject({ status: 201, body })
    const repeated = await fixture.request(collection.create, { params: fixture.params(collection), body, headers })
    expect(repeated).toMatchObject({ status: 201, text: created.text })
    const params = fixture.params(collection, created.body.id)
    const change = Object.entries(nextBody()).filter(([name]) => !isFixed(resource, name))
    const changed = await fixture.request(collection.update, { params, body: Object.fromEntries(change) })
    expect(changed.status, changed.text).toBe(200)
    expect((await fixture.request(collection.get, { params })).text).toBe(changed.text)
    expect((await fixture.request(collection.delete, { params })).status).toBe(204)
    expect((await fixture.request(collection.restore, { params })).status).toBe(200)
  },
)
