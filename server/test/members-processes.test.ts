import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSetUpLink } from '../src/commands/set-up-link.ts'
import { createOneTimeToken } from '../src/identity/access/one-time-token-store.ts'
import { Database } from '../src/platform/database/database.ts'
import { readId } from '../src/platform/model/ids.ts'
import { goodPassword, newEmail, tokenOf } from './people.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from './service-process.ts'
import type { Json } from './service.ts'

let made: TestDatabase
let database: Database
let processes: ServiceProcesses
let left: ServiceProcess
let right: ServiceProcess
beforeAll(async () => {
  made = await createDatabase()
  database = new Database({ connection: made.connection, size: 4 })
  processes = await serviceProcesses(made)
  ;[left, right] = await Promise.all([processes.start('left'), processes.start('right')])
})
afterAll(async () => {
  await processes.close()
  await database.close()
  await made.drop()
})

interface Told {
  status: number
  body: Json
}

async function ask(at: ServiceProcess, method: string, path: string, more: { token?: string; body?: unknown } = {}) {
  const answer = await fetch(`${at.url}${path}`, {
    method,
    headers: {
      ...(more.token !== undefined && { authorization: `Bearer ${more.token}` }),
      ...(more.body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(more.body !== undefined && { body: JSON.stringify(more.body) }),
  })
  const text = await answer.text()
  const told: Told = { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  return told
}

/** A new person whom the owner invites at one process and who accepts at the other. */
async function join(owner: string, role: string): Promise<{ userId: string; accessToken: string }> {
  const email = newEmail()
  const invited = await ask(left, 'POST', '/v5/invitations', { token: owner, body: { email, role } })
  expect(invited.status, JSON.stringify(invited.body)).toBe(201)
  const { body: organization } = await ask(left, 'GET', '/v5/organization', { token: owner })
  const token = await database.crossTenantTransaction('log in', (db) =>
    createOneTimeToken(db, {
      purpose: 'invitation',
      email,
      organizationId: readId('org', organization.id) ?? '',
      recordId: readId('inv', invited.body.id) ?? '',
      lifetimeSeconds: 600,
    }),
  )
  const body = { token, name: 'Grace Hopper', password: goodPassword }
  const accepted = await ask(right, 'POST', '/auth/invitations/accept', { body })
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200)
  return accepted.body
}

test('a role, a removal and a choice of organization count on the next request of every process', async () => {
  const body = {
    token: tokenOf((await createSetUpLink(database, left.url)) ?? ''),
    email: newEmail(),
    name: 'Ada Lovelace',
    organization: 'Engines',
    password: goodPassword,
  }
  const { accessToken: owner } = (await ask(left, 'POST', '/auth/set-up', { body })).body
  const { userId, accessToken: token } = await join(owner, 'member')
  const path = `/v5/members/${userId}`
  const write = (at: ServiceProcess) => ask(at, 'POST', '/v5/contacts', { token, body: { name: 'Bob' } })
  for (let round = 0; round < 5; round++) {
    const [here, there] = round % 2 ? [left, right] : [right, left]
    // Both remember who this is and what they may.
    expect([(await write(here)).status, (await write(there)).status]).toEqual([201, 201])
    expect((await ask(here, 'PATCH', path, { token: owner, body: { role: 'viewer' } })).status).toBe(200)
    expect((await write(there)).body.code).toBe('missing_scopes')
    expect((await write(here)).body.code).toBe('missing_scopes')
    expect((await ask(there, 'PATCH', path, { token: owner, body: { role: 'member' } })).status).toBe(200)
  }
  const { body: second } = await ask(left, 'POST', '/v5/me/organizations', { token: owner, body: { name: 'Second' } })
  const choice = { token: owner, body: { organizationId: second.id } }
  const first = (await ask(right, 'GET', '/v5/organization', { token: owner })).body.id
  expect((await ask(left, 'POST', '/v5/me/organization', choice)).status).toBe(200)
  expect((await ask(right, 'GET', '/v5/organization', { token: owner })).body.id).toBe(second.id)
  await ask(right, 'POST', '/v5/me/organization', { token: owner, body: { organizationId: first } })

  expect((await ask(right, 'GET', '/v5/contacts', { token })).status).toBe(200)
  expect((await ask(left, 'DELETE', path, { token: owner })).status).toBe(204)
  for (const at of [right, left]) {
    const { status, body: refused } = await ask(at, 'GET', '/v5/contacts', { token })
    expect([status, refused.code]).toEqual([403, 'insufficient_permissions'])
    // The session lives on, without a place.
    const me = await ask(at, 'GET', '/v5/me/sessions', { token })
    expect(me.status).toBe(200)
  }
})

test('failed logins are counted together by every process, for an address that has an account and one that has none', async () => {
  const unknown = newEmail()
  const log = (at: ServiceProcess) =>
    ask(at, 'POST', '/auth/login', { body: { email: unknown, password: 'wrong engine tandem' } })
  for (let failure = 0; failure < 10; failure++) expect((await log(failure % 2 ? left : right)).status).toBe(401)
  for (const at of [left, right]) expect((await log(at)).body.code).toBe('rate_limited')
})
