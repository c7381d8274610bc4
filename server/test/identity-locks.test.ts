import { existsSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { apiKeyHash, generateApiKey } from '../src/identity/access/api-key.ts'
import { findSoleOwnerships } from '../src/identity/users/deletion-store.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { raw, type Sql, sql } from '../src/platform/model/sql.ts'
import { createHeldLocks, type Held, type HeldLocks, lockOf, uuidOf } from './held-locks.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import { callAs, goodPassword, logIn, newOwner, type TestOwner, type TestPerson } from './people.ts'
import type { Json } from './service.ts'

let mailed: MailedService
let owner: TestOwner
let locks: HeldLocks
beforeAll(async () => {
  mailed = await startMailedService()
  locks = createHeldLocks(() => mailed.service.database)
  owner = await newOwner(mailed.service)
})
afterAll(async () => {
  locks.restore()
  await mailed.close()
})

async function create(path: string, body: object, { call }: Pick<TestPerson, 'call'> = owner): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

const ofMember = ({ userId }: TestPerson, from = owner): Sql =>
  sql`organization_id = ${uuidOf(from.organizationId)} and user_id = ${uuidOf(userId)}`
const lockMember = (person: TestPerson): Sql => sql`select from members where ${ofMember(person)} for update`
const removing = (person: TestPerson): Held => ({
  lock: lockMember(person),
  meanwhile: sql`delete from members where ${ofMember(person)}`,
})
const deleting = (table: string, { id }: Json): Held => ({
  lock: lockOf(table, id),
  meanwhile: sql`update ${raw(table)} set deleted_at = now() where id = ${uuidOf(id)}`,
})

test('of two owners who leave or are removed at the same time, the second one sees that the first is gone', async () => {
  const founder = await newOwner(mailed.service)
  const second = await mailed.join(founder.call, 'owner')
  const held = {
    lock: lockOf('organizations', founder.organizationId, 'for no key update'),
    meanwhile: sql`update members set role = 'admin' where ${ofMember(second, founder)}`,
  }
  const secondReturns = () =>
    mailed.service.database.crossTenantQuery(
      'check the database',
      sql`update members set role = 'owner' where ${ofMember(second, founder)}`,
    )
  for (const [method, path, body] of [
    ['DELETE', `/v5/me/organizations/${founder.organizationId}`],
    ['PATCH', `/v5/members/${founder.userId}`, { role: 'member' }],
    ['DELETE', `/v5/members/${founder.userId}`],
  ] as const) {
    const send = () => founder.call(method, path, body && { body })
    expect(await locks.whileHeld(held, send), path).toMatchObject({ status: 423 })
    await secondReturns()
  }
})

test('what a member becomes at the same time counts for a removal and for a team', async () => {
  const person = await mailed.join(owner.call, 'member')
  const path = `/v5/members/${person.userId}`
  const etag = (await owner.call('GET', path)).headers.get('etag') ?? ''
  const held = {
    lock: lockMember(person),
    meanwhile: sql`update members set revision = revision + 1 where ${ofMember(person)}`,
  }
  const send = () => owner.call('DELETE', path, { headers: { 'if-match': etag } })
  expect((await locks.whileHeld(held, send)).status).toBe(412)
  const team = await create('/v5/teams', { name: 'North' })
  const join = () => owner.call('POST', `/v5/teams/${team.id}/members/${person.userId}`)
  expect((await locks.whileHeld(removing(person), join)).status).toBe(404)
})

test('a person who is being removed gets no task', async () => {
  const person = await mailed.join(owner.call, 'admin')
  const { apiKey } = await create('/v5/api-keys', { name: 'Tasks', scopes: ['task:*:*'] }, person)
  const call = callAs(mailed.service, apiKey, { 'service-organization-id': owner.organizationId })
  const send = () => call('POST', '/v5/tasks', { body: { title: 'Call' } })
  expect(await locks.whileHeld(removing(person), send)).toMatchObject({ status: 201, body: { assigneeId: null } })
})

test('nobody gives or changes a role that is becoming wider than their own', async () => {
  const contacts = ['contact:*:read']
  const newRole = (name: string, scopes: string[]) => create('/v5/roles', { name, scopes })
  const [narrow, target] = [await newRole('Reads', contacts), await newRole('Reads too', contacts)]
  const changed = await newRole('Reads as well', contacts)
  const manager = await mailed.join(owner.call, 'member')
  const { id: managing } = await newRole('Manages', ['member:*:*', 'role:*:*', ...contacts])
  const person = await mailed.join(owner.call, 'member')
  for (const [{ userId }, roleId] of [
    [manager, managing],
    [person, narrow.id],
  ] as const)
    expect((await owner.call('PATCH', `/v5/members/${userId}`, { body: { roleId } })).status).toBe(200)
  const widening = ({ id }: Json): Held => ({
    lock: lockOf('roles', id),
    meanwhile: sql`update roles set scopes = '{urn:service:contact:*:*}', revision = revision + 1 where id = ${uuidOf(id)}`,
  })
  const refused = { status: 403, body: { code: 'missing_scopes' } }
  const give = () => manager.call('PATCH', `/v5/members/${person.userId}`, { body: { roleId: target.id } })
  expect(await locks.whileHeld(widening(target), give)).toMatchObject(refused)
  const change = () => manager.call('PATCH', `/v5/roles/${changed.id}`, { body: { name: 'Changed' } })
  expect(await locks.whileHeld(widening(changed), change)).toMatchObject(refused)
})

test('of two rotations of a key at the same time, the second one keeps the value of the first', async () => {
  const { id, apiKey } = await create('/v5/api-keys', { name: 'Rotated', scopes: ['contact:*:read'] })
  const first = generateApiKey()
  const held = {
    lock: lockOf('api_keys', id),
    meanwhile: sql`update api_keys set hash = ${apiKeyHash(first)}, version = version + 1 where id = ${uuidOf(id)}`,
  }
  const rotate = () => owner.call('POST', `/v5/api-keys/${id}/rotate`, { body: { overlapSeconds: 60 } })
  const rotated = await locks.whileHeld(held, rotate)
  expect(rotated.status, rotated.text).toBe(200)
  const statuses = [apiKey, first, rotated.body.apiKey].map(async (key) => {
    const call = callAs(mailed.service, key, { 'service-organization-id': owner.organizationId })
    return (await call('GET', '/v5/contacts')).status
  })
  expect(await Promise.all(statuses)).toEqual([401, 200, 200])
})

test('an invitation is not accepted while it is withdrawn, and gives no place in a team that is being deleted', async () => {
  const team = await create('/v5/teams', { name: 'South' })
  const accept = (token: string) =>
    mailed.service.anonymous('POST', '/auth/invitations/accept', {
      body: { token, name: 'Grace', password: goodPassword },
    })
  const withdrawn = await mailed.invite(owner.call)
  const held = {
    lock: lockOf('invitations', withdrawn.id),
    meanwhile: sql`delete from invitations where id = ${uuidOf(withdrawn.id)}`,
  }
  expect((await locks.whileHeld(held, () => accept(withdrawn.token))).status).toBe(422)
  const invited = await mailed.invite(owner.call, { teamId: team.id })
  const accepted = await locks.whileHeld(deleting('teams', team), () => accept(invited.token))
  expect(accepted.status, accepted.text).toBe(200)
  const found = await mailed.service.database.crossTenantQuery(
    'check the database',
    sql`select from team_members where team_id = ${uuidOf(team.id)}`,
  )
  expect(found).toEqual([])
})

test('an account that changes at the same time is neither logged in nor invited as what it was', async () => {
  const person = await mailed.join(owner.call, 'member')
  const lock = lockOf('users', person.userId)
  const changing = (values: Sql): Held => ({
    lock,
    meanwhile: sql`update users set ${values} where id = ${uuidOf(person.userId)}`,
  })
  const another = await newOwner(mailed.service)
  const { token } = await mailed.invite(another.call, { email: person.email })
  const acceptOwn = () => person.call('POST', '/v5/me/invitations', { body: { token } })
  const moved = changing(sql`email = 'moved@example.com', email_key = 'moved@example.com'`)
  expect((await locks.whileHeld(moved, acceptOwn)).status).toBe(403)
  const login = () => logIn(mailed.service, 'moved@example.com')
  expect((await locks.whileHeld(changing(sql`disabled_at = now()`), login)).status).toBe(401)
})

test('an organization is deleted only under its current name, by a person who is still an owner', async () => {
  const founder = await newOwner(mailed.service)
  const path = `/v5/me/organizations/${founder.organizationId}/deletion`
  const { body: found } = await founder.call('GET', '/v5/organization')
  const schedule = () => founder.call('POST', path, { body: { name: found.name } })
  const id = uuidOf(founder.organizationId)
  const renamed = {
    lock: lockOf('organizations', founder.organizationId, 'for no key update'),
    meanwhile: sql`update organizations set name = 'Another name' where id = ${id}`,
  }
  expect((await locks.whileHeld(renamed, schedule)).status).toBe(422)
  await founder.call('PATCH', '/v5/organization', { body: { name: found.name } })
  const demoted = {
    lock: sql`select from members where ${ofMember(founder, founder)} for update`,
    meanwhile: sql`update members set role = 'admin' where ${ofMember(founder, founder)}`,
  }
  expect((await locks.whileHeld(demoted, schedule)).status).toBe(403)
})

test('a person who gets their last organization at the same time cannot create another one', async () => {
  const person = await newOwner(mailed.service)
  // Nineteen more: those of other owners.
  const others = await Promise.all(Array.from({ length: 19 }, () => newOwner(mailed.service)))
  const membership = (of: string): Sql => sql`insert into members (organization_id, user_id, role)
    values (${uuidOf(of)}, ${uuidOf(person.userId)}, 'owner')`
  const [last, ...rest] = others
  for (const one of rest)
    await mailed.service.database.crossTenantQuery('check the database', membership(one.organizationId))
  const held = {
    lock: lockOf('users', person.userId, 'for no key update'),
    meanwhile: membership(last?.organizationId ?? ''),
  }
  const send = () => person.call('POST', '/v5/me/organizations', { body: { name: 'One too many' } })
  expect(await locks.whileHeld(held, send)).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
})

test('a person is not deleted who has become the last owner at the same time', async () => {
  const founder = await newOwner(mailed.service)
  const second = await mailed.join(founder.call, 'owner')
  const held = {
    lock: lockOf('organizations', founder.organizationId, 'for no key update'),
    meanwhile: sql`update members set role = 'admin' where ${ofMember(second, founder)}`,
  }
  const find = () =>
    mailed.service.database.crossTenantTransaction('manage an account', (db) =>
      findSoleOwnerships(db, decodeId('usr', founder.userId) ?? ''),
    )
  expect(await locks.whileHeld(held, find)).toHaveLength(1)
})

/** Files with locks of other kinds, and the tests that hold or race them. */
const heldElsewhere: Readonly<Record<string, string>> = {
  'access/login-store.ts': 'second-factors/second-factors-limits.test.ts',
  'access/record-limit-store.ts': '../../test/record-limits.test.ts',
  'access/readers-store.ts': '../inbox/entries.test.ts',
  'access/store.ts': 'access/sessions.test.ts',
  'auth/store.ts': 'auth/accounts.test.ts',
  'mails/queue-store.ts': 'mails/mail-worker.test.ts',
  'second-factors/store.ts': 'second-factors/second-factors-limits.test.ts',
  'teams/store.ts': '../../test/record-locks.test.ts',
}

test('every other lock of identity is held in a test above', () => {
  const untested = locks.untested(/^server\/src\/identity\//)
  expect(untested.filter((lock) => !Object.keys(heldElsewhere).some((place) => lock.includes(`/${place}`)))).toEqual([])
  for (const file of Object.values(heldElsewhere))
    expect(existsSync(new URL(`../src/identity/${file}`, import.meta.url)), file).toBe(true)
})
