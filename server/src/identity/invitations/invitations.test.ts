import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import {
  callAs,
  goodPassword,
  receiveLinkToken,
  logIn,
  newEmail,
  newOwner,
  type TestPerson,
} from '../../../test/people.ts'
import type { Json } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

const path = '/v5/invitations'
const deadLink = { status: 422, body: { code: 'invalid_field_value', details: [{ field: 'token' }] } }
const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }

const post = (at: string, body: unknown) => mailed.service.anonymous('POST', at, { body })
const accept = (token: string, more = {}) =>
  post('/auth/invitations/accept', { token, name: 'Grace Hopper', password: goodPassword, ...more })
const preview = (token: string) => post('/auth/invitations/preview', { token })

/** Makes the invitation older by so many seconds. */
const age = (id: string, seconds: number) =>
  mailed.service.database.crossTenantQuery(
    'manage an account',
    sql`update invitations set sent_at = sent_at - make_interval(secs => ${seconds}),
        expires_at = expires_at - make_interval(secs => ${seconds}) where id = ${decodeId('inv', id)}::uuid`,
  )

const membersOf = async (by: { call: TestPerson['call'] }): Promise<string[]> =>
  (await by.call('GET', '/v5/members')).body.map(({ person }: Json) => person.email)

test('an invited person can preview the invitation, create one account with it, and is logged in with its role', async () => {
  const owner = await newOwner(mailed.service)
  const { body: team } = await owner.call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { id, email, token } = await mailed.invite(owner.call, { role: 'admin', teamId: team.id })
  const { body: shown } = await owner.call('GET', `${path}/${id}`)
  expect(shown).toMatchObject({ email, role: 'admin', teamId: team.id, expiresInDays: 7, invitedBy: owner.userId })
  expect(Date.parse(shown.expiresAt) - Date.parse(shown.sentAt)).toBeCloseTo(7 * 24 * 60 * 60 * 1000, -4)
  const { body: organization } = await owner.call('GET', '/v5/organization')
  for (let time = 0; time < 2; time++) {
    expect((await preview(token)).body).toEqual({
      organization: organization.name,
      email,
      role: 'admin',
      expiresAt: shown.expiresAt,
    })
  }
  const accepted = await accept(token)
  expect(accepted, accepted.text).toMatchObject({ status: 200, body: { status: 'complete' } })
  const call = callAs(mailed.service, accepted.body.accessToken)
  expect((await call('GET', '/v5/me')).body).toMatchObject({
    email,
    name: 'Grace Hopper',
    organizations: [{ id: owner.organizationId, role: 'admin' }],
  })
  expect((await owner.call('GET', `/v5/teams/${team.id}/members`)).body).toMatchObject([{ id: accepted.body.userId }])
  expect((await owner.call('GET', path)).body).toEqual([])
  expect(await accept(token)).toMatchObject(deadLink)
  expect(await preview(token)).toMatchObject(deadLink)
  expect((await logIn(mailed.service, email)).status).toBe(200)
  const log = await owner.call('GET', `/v5/audit-log?filter.recordId.equals=${id}&sort=asc`)
  expect(log.body).toMatchObject([
    { action: 'invitation.created', actorId: owner.userId },
    { action: 'invitation.accepted', actorId: accepted.body.userId },
  ])
})

test('concurrent uses of one link create one person', async () => {
  const owner = await newOwner(mailed.service)
  const { token, email } = await mailed.invite(owner.call)
  const responses = await Promise.all(Array.from({ length: 6 }, () => accept(token)))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const { status } of responses) expect([200, 409, 422]).toContain(status)
  expect((await membersOf(owner)).filter((one) => one === email)).toHaveLength(1)
})

test('a weak or guessable password creates no account, and the link stays valid', async () => {
  const owner = await newOwner(mailed.service)
  const { token, email } = await mailed.invite(owner.call, { email: `ada.lovelace.${newEmail()}` })
  for (const password of ['short', 'Sunshine2026', 'Lovelace1815!', email]) {
    const refused = await accept(token, { password })
    expect(refused, password).toMatchObject({ status: 422, body: { details: [{ field: 'password' }] } })
  }
  expect((await accept(token, { role: 'owner' })).status).toBe(422)
  expect((await accept(token, { cookie: true })).status).toBe(403)
  expect((await accept(token)).status).toBe(200)
})

test('a person with an account must log in, and can join only with the invited address', async () => {
  const owner = await newOwner(mailed.service)
  const other = await newOwner(mailed.service)
  const outsider = await newOwner(mailed.service)
  const { token } = await mailed.invite(owner.call, {
    email: other.email.replace(/^[^@]+/, (local) => local.toUpperCase()),
    role: 'viewer',
  })
  expect((await preview(token)).status).toBe(200)
  const refused = await accept(token)
  expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists' } })
  expect(refused.body.description).toContain('log in')
  const join = (person: TestPerson) => person.call('POST', '/v5/me/invitations', { body: { token } })
  expect(await join(outsider)).toMatchObject(forbidden)
  expect(await join(other)).toMatchObject({ status: 200, body: { id: owner.organizationId, role: 'viewer' } })
  expect(await join(other)).toMatchObject(deadLink)
  expect((await other.call('GET', '/v5/organization')).body.id).toBe(other.organizationId)
  expect((await other.call('GET', '/v5/me')).body.organizations).toHaveLength(2)
})

test('an address can have one invitation, and a member none', async () => {
  const owner = await newOwner(mailed.service)
  const { id, email } = await mailed.invite(owner.call)
  for (const spelling of [email, email.toUpperCase()]) {
    const refused = await owner.call('POST', path, { body: { email: spelling, role: 'viewer' } })
    expect(refused).toMatchObject({ status: 409, body: { code: 'already_exists', details: [{ field: 'email', id }] } })
  }
  const refused = await owner.call('POST', path, { body: { email: owner.email, role: 'viewer' } })
  expect(refused).toMatchObject({ status: 409, body: { details: [{ field: 'email', id: owner.userId }] } })
  const elsewhere = await newOwner(mailed.service)
  expect((await elsewhere.call('POST', path, { body: { email, role: 'viewer' } })).status).toBe(201)
  const races = await Promise.all(
    Array.from({ length: 5 }, () => owner.call('POST', path, { body: { email: 'race@example.com', role: 'viewer' } })),
  )
  expect(races.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409])
})

test('an invitation expires after its days, and resending it replaces the link', async () => {
  const owner = await newOwner(mailed.service)
  for (const expiresInDays of [0, 31, 1.5]) {
    const refused = await owner.call('POST', path, { body: { email: newEmail(), role: 'member', expiresInDays } })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'expiresInDays' }] } })
  }
  const { id, email, token } = await mailed.invite(owner.call, { expiresInDays: 1 })
  const resend = () => owner.call('POST', `${path}/${id}/resend`)
  await age(id, 24 * 60 * 60 + 1)
  expect(await preview(token)).toMatchObject(deadLink)
  expect(await accept(token)).toMatchObject(deadLink)
  const again = await resend()
  expect(again, again.text).toMatchObject({ status: 200, body: { id, email } })
  expect(Date.parse(again.body.expiresAt)).toBeGreaterThan(Date.now() + 23 * 60 * 60 * 1000)
  const second = await receiveLinkToken(mailed.receiver, email, 'invitation')
  expect(second).not.toBe(token)
  expect(await accept(token)).toMatchObject(deadLink)
  expect((await accept(second)).status).toBe(200)
})

test('a withdrawn invitation no longer works, and the address can be invited again', async () => {
  const owner = await newOwner(mailed.service)
  const { id, email, token } = await mailed.invite(owner.call)
  expect((await owner.call('DELETE', `${path}/${id}`)).status).toBe(204)
  expect((await owner.call('GET', `${path}/${id}`)).status).toBe(404)
  expect(await accept(token)).toMatchObject(deadLink)
  expect((await owner.call('POST', `${path}/${id}/resend`)).status).toBe(404)
  const { token: next } = await mailed.invite(owner.call, { email })
  expect(await accept(token)).toMatchObject(deadLink)
  expect((await accept(next)).status).toBe(200)
})

test('an invitation is invalid once its sender may not send it, until another person resends it', async () => {
  const owner = await newOwner(mailed.service)
  const second = await mailed.join(owner.call, 'owner')
  const admin = await mailed.join(owner.call, 'admin')
  const asOwner = await mailed.invite(second.call, { role: 'owner' })
  const asMember = await mailed.invite(admin.call, { role: 'member' })
  expect((await owner.call('PATCH', `/v5/members/${second.userId}`, { body: { role: 'admin' } })).status).toBe(200)
  expect((await owner.call('DELETE', `/v5/members/${admin.userId}`)).status).toBe(204)
  for (const { token } of [asOwner, asMember]) expect(await accept(token)).toMatchObject(deadLink)
  expect((await second.call('POST', `${path}/${asMember.id}/resend`)).body.invitedBy).toBe(second.userId)
  const token = await receiveLinkToken(mailed.receiver, asMember.email, 'invitation')
  expect((await accept(token)).status).toBe(200)
  expect(await second.call('POST', `${path}/${asOwner.id}/resend`)).toMatchObject(forbidden)
})

test('an invitation is invalid while its sender is disabled', async () => {
  const owner = await newOwner(mailed.service)
  const { token } = await mailed.invite(owner.call, { role: 'owner' })
  const disabled = (isDisabled: boolean) =>
    mailed.service.database.crossTenantQuery(
      'manage an account',
      sql`update users set disabled_at = case when ${isDisabled}::boolean then now() end
        where id = ${decodeId('usr', owner.userId)}::uuid`,
    )
  await disabled(true)
  expect(await preview(token)).toMatchObject(deadLink)
  expect(await accept(token)).toMatchObject(deadLink)
  await disabled(false)
  expect((await accept(token)).status).toBe(200)
})

test('an invalid token, or one with another purpose, is rejected', async () => {
  const owner = await newOwner(mailed.service)
  const { token } = await mailed.invite(owner.call)
  for (const wrong of ['', 'x', token.slice(0, -1), `${token}x`, `ott_${'A'.repeat(43)}`, "' or true --"]) {
    const responses = [await preview(wrong), await accept(wrong)]
    for (const response of responses)
      expect(response, wrong).toMatchObject({ status: 422, body: { details: [{ field: 'token' }] } })
  }
  for (const at of ['/auth/reset-password', '/auth/sign-up/confirm']) {
    const response = await post(at, { token, password: goodPassword, name: 'Grace', organization: 'Navy' })
    expect(response.status, at).toBeGreaterThanOrEqual(400)
  }
  expect((await preview(token)).status).toBe(200)
})

test('only owners and admins can see and send invitations', async () => {
  const owner = await newOwner(mailed.service)
  for (const role of ['member', 'viewer'] as const) {
    const person = await mailed.join(owner.call, role)
    expect((await person.call('GET', path)).body.code).toBe('missing_scopes')
    const sent = await person.call('POST', path, { body: { email: newEmail(), role: 'viewer' } })
    expect(sent.body.code).toBe('missing_scopes')
  }
})

test('with SIGN_UP=closed, no account is created, but people with an account can join', async () => {
  const closed = await startMailedService({ SIGN_UP: 'closed' })
  try {
    const owner = await newOwner(closed.service)
    const { token, email } = await closed.invite(owner.call)
    const refused = await closed.service.anonymous('POST', '/auth/invitations/accept', {
      body: { token, name: 'Grace', password: goodPassword },
    })
    expect(refused).toMatchObject(forbidden)
    expect((await logIn(closed.service, email)).status).toBe(401)
    const other = await newOwner(closed.service)
    const known = await closed.invite(owner.call, { email: other.email })
    expect((await other.call('POST', '/v5/me/invitations', { body: { token: known.token } })).status).toBe(200)
  } finally {
    await closed.close()
  }
})

test('an invitation can be mailed five times an hour, and only its last link is valid', async () => {
  const owner = await newOwner(mailed.service)
  const { id, email, token } = await mailed.invite(owner.call)
  const resend = () => owner.call('POST', `${path}/${id}/resend`)
  const links = [token]
  while (links.length < 5) {
    expect((await resend()).status).toBe(200)
    links.push(await receiveLinkToken(mailed.receiver, email, 'invitation'))
  }
  const { body: before } = await owner.call('GET', `${path}/${id}`)
  const refused = await resend()
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3500)
  expect((await owner.call('GET', `${path}/${id}`)).body).toEqual(before)
  const previews = await Promise.all(links.map(preview))
  expect(previews.map(({ status }) => status)).toEqual([422, 422, 422, 422, 200])
})

test('an organization can send a hundred invitations an hour; others are not affected', async () => {
  const owner = await newOwner(mailed.service)
  await mailed.service.database.crossTenantQuery(
    'manage an account',
    sql`insert into mails (id, organization_id, kind, recipient, recipient_key, status, run_at, ended_at, created_at)
      select gen_random_uuid(), ${decodeId('org', owner.organizationId)}::uuid, 'invitation', 'x@example.com', 'x@example.com',
        'sent', null, now(), now() - number * interval '10 seconds' from generate_series(1, 99) number`,
  )
  expect((await owner.call('POST', path, { body: { email: newEmail(), role: 'viewer' } })).status).toBe(201)
  const refused = await owner.call('POST', path, { body: { email: newEmail(), role: 'viewer' } })
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  // The first of the hundred is 990 seconds old.
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3600 - 1000)
  expect((await owner.call('GET', `${path}/count`)).body).toEqual({ count: 1 })
  // Another organization has a separate limit.
  const other = await newOwner(mailed.service)
  expect((await other.call('POST', path, { body: { email: newEmail(), role: 'viewer' } })).status).toBe(201)
})

test('neither the database nor the log contains a mailed link', async () => {
  const owner = await newOwner(mailed.service)
  const { token } = await mailed.invite(owner.call)
  await preview(token)
  const tables = ['invitations', 'one_time_tokens', 'mails', 'audit_events']
  for (const table of tables) {
    const rows = await mailed.service.database.crossTenantQuery<{ text: string }>(
      'manage an account',
      sql`select query_to_xml(${`select * from ${table}`}, true, false, '')::text as text`,
    )
    expect(rows[0]?.text.length).toBeGreaterThan(100)
    expect(rows[0]?.text, table).not.toContain(token)
    expect(rows[0]?.text, table).not.toContain(token.slice(4))
  }
  expect(mailed.service.logged.join('\n')).not.toContain(token.slice(4))
})
