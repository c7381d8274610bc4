import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSetUpLink } from '../../cli/set-up-link.ts'
import { createOneTimeToken } from '../access/one-time-token-store.ts'
import { Database } from '../../platform/database/database.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { goodPassword, newEmail, tokenInLink } from '../../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from '../../../test/service-process.ts'
import type { Json } from '../../../test/service.ts'

let testDatabase: TestDatabase
let database: Database
let processes: ServiceProcesses
let left: ServiceProcess
let right: ServiceProcess
beforeAll(async () => {
  testDatabase = await createDatabase()
  database = new Database({ connection: testDatabase.connection, size: 4 })
  processes = await serviceProcesses(testDatabase)
  ;[left, right] = await Promise.all([processes.start('left'), processes.start('right')])
})
afterAll(async () => {
  await processes.close()
  await database.close()
  await testDatabase.drop()
})

interface ProcessResponse {
  status: number
  body: Json
}

async function send(
  process: ServiceProcess,
  method: string,
  path: string,
  options: { token?: string; body?: unknown } = {},
) {
  const fetched = await fetch(`${process.url}${path}`, {
    method,
    headers: {
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...(options.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(options.body !== undefined && { body: JSON.stringify(options.body) }),
  })
  const text = await fetched.text()
  const response: ProcessResponse = { status: fetched.status, body: text === '' ? undefined : JSON.parse(text) }
  return response
}

/** Invites a new person through one process; the person accepts through the other. */
async function join(owner: string, role: string): Promise<{ userId: string; accessToken: string }> {
  const email = newEmail()
  const invited = await send(left, 'POST', '/v5/invitations', { token: owner, body: { email, role } })
  expect(invited.status, JSON.stringify(invited.body)).toBe(201)
  const { body: organization } = await send(left, 'GET', '/v5/organization', { token: owner })
  const token = await database.crossTenantTransaction('log in', (db) =>
    createOneTimeToken(db, {
      purpose: 'invitation',
      email,
      organizationId: decodeId('org', organization.id) ?? '',
      recordId: decodeId('inv', invited.body.id) ?? '',
      lifetimeSeconds: 600,
    }),
  )
  const body = { token, name: 'Grace Hopper', password: goodPassword }
  const accepted = await send(right, 'POST', '/auth/invitations/accept', { body })
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200)
  return accepted.body
}

test('a change of role, membership or current organization takes effect on the next request to every process', async () => {
  const body = {
    token: tokenInLink((await createSetUpLink(database, left.url)) ?? ''),
    email: newEmail(),
    name: 'Ada Lovelace',
    organization: 'Engines',
    password: goodPassword,
  }
  const { accessToken: owner } = (await send(left, 'POST', '/auth/set-up', { body })).body
  const { userId, accessToken: token } = await join(owner, 'member')
  const path = `/v5/members/${userId}`
  const write = (process: ServiceProcess) => send(process, 'POST', '/v5/contacts', { token, body: { name: 'Bob' } })
  for (let round = 0; round < 5; round++) {
    const [first, second] = round % 2 ? [left, right] : [right, left]
    // Now both processes have cached the person and the role.
    expect([(await write(first)).status, (await write(second)).status]).toEqual([201, 201])
    expect((await send(first, 'PATCH', path, { token: owner, body: { role: 'viewer' } })).status).toBe(200)
    expect((await write(second)).body.code).toBe('missing_scopes')
    expect((await write(first)).body.code).toBe('missing_scopes')
    expect((await send(second, 'PATCH', path, { token: owner, body: { role: 'member' } })).status).toBe(200)
  }
  const { body: second } = await send(left, 'POST', '/v5/me/organizations', { token: owner, body: { name: 'Second' } })
  const choice = { token: owner, body: { organizationId: second.id } }
  const first = (await send(right, 'GET', '/v5/organization', { token: owner })).body.id
  expect((await send(left, 'POST', '/v5/me/organization', choice)).status).toBe(200)
  expect((await send(right, 'GET', '/v5/organization', { token: owner })).body.id).toBe(second.id)
  await send(right, 'POST', '/v5/me/organization', { token: owner, body: { organizationId: first } })

  expect((await send(right, 'GET', '/v5/contacts', { token })).status).toBe(200)
  expect((await send(left, 'DELETE', path, { token: owner })).status).toBe(204)
  for (const process of [right, left]) {
    const { status, body: refused } = await send(process, 'GET', '/v5/contacts', { token })
    expect([status, refused.code]).toEqual([403, 'insufficient_permissions'])
    // The session continues without an organization.
    const me = await send(process, 'GET', '/v5/me/sessions', { token })
    expect(me.status).toBe(200)
  }
})

test('all processes count failed logins together, with and without an account', async () => {
  const unknown = newEmail()
  const logInWithWrongPassword = (process: ServiceProcess) =>
    send(process, 'POST', '/auth/login', { body: { email: unknown, password: 'wrong engine tandem' } })
  for (let failure = 0; failure < 10; failure++)
    expect((await logInWithWrongPassword(failure % 2 ? left : right)).status).toBe(401)
  for (const process of [left, right]) expect((await logInWithWrongPassword(process)).body.code).toBe('rate_limited')
})
