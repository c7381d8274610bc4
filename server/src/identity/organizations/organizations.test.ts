import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { backdateReauthentication, newOwner, untilServed } from '../../../test/people.ts'
import { startTestService } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

const path = '/v5/organization'
const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }

test('owners and admins can change the organization’s settings, and all members can read them', async () => {
  const owner = await newOwner(mailed.service)
  const { body: before } = await owner.call('GET', path)
  expect(before).toMatchObject({
    id: owner.organizationId,
    timeZone: 'UTC',
    defaultCurrency: 'EUR',
    requiresSecondFactor: false,
  })
  const body = { name: 'Analytical Engines', timeZone: 'Europe/London', defaultCurrency: 'gbp' }
  const changed = await owner.call('PATCH', path, { body: { ...body, timeZone: 'europe/london' } })
  expect(changed.body).toEqual({ ...before, ...body, defaultCurrency: 'GBP', updatedAt: changed.body.updatedAt })
  expect((await owner.call('GET', path)).body).toEqual(changed.body)
  expect((await owner.call('GET', '/v5/me')).body.organizations).toMatchObject([{ name: body.name }])
  const viewer = await mailed.join(owner.call, 'viewer')
  expect((await viewer.call('GET', path)).body).toEqual(changed.body)
  expect((await viewer.call('PATCH', path, { body })).status).toBe(403)
  const events = await owner.call('GET', '/v5/audit-log?filter.action.equals=organization.updated')
  expect(events.body).toMatchObject([
    { actorId: owner.userId, details: { fields: ['name', 'timeZone', 'defaultCurrency'] } },
  ])
})

test.each([
  ['an unknown currency', { defaultCurrency: 'XYZ' }, 'ISO 4217'],
  ['an unknown time zone', { timeZone: 'Moon/Base' }, 'IANA'],
  ['no name', { name: null }, 'null'],
  ['a chosen slug', { slug: 'other' }, 'read-only'],
])('%s is rejected', async (_, body, why) => {
  const { call } = await mailed.service.newOrganization()
  const { body: before } = await call('GET', path)
  const refused = await call('PATCH', path, { body })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: Object.keys(body)[0] }] } })
  expect(refused.text).toContain(why)
  expect((await call('GET', path)).body).toEqual(before)
})

test('only a recently authenticated owner with a second factor can require it, and members without one are locked out', async () => {
  const owner = await newOwner(mailed.service)
  const admin = await mailed.join(owner.call, 'admin')
  const requireFactor = { body: { requiresSecondFactor: true } }
  expect(await admin.call('PATCH', path, requireFactor)).toMatchObject(forbidden)
  const { call: byKey } = await mailed.service.newOrganization()
  expect(await byKey('PATCH', path, requireFactor)).toMatchObject(forbidden)
  await backdateReauthentication(mailed.service, owner, 360)
  expect(await owner.call('PATCH', path, requireFactor)).toMatchObject({
    status: 403,
    body: { code: 'reauthentication_required' },
  })
  await backdateReauthentication(mailed.service, owner, 0)
  expect(await owner.call('PATCH', path, requireFactor)).toMatchObject({
    status: 403,
    body: { code: 'second_factor_required' },
  })
  expect((await owner.call('GET', path)).body.requiresSecondFactor).toBe(false)

  await mailed.service.database.crossTenantQuery(
    'manage an account',
    sql`update sessions set second_factor_at = now() where id = ${decodeId('session', owner.sessionId)}::uuid`,
  )
  expect(await owner.call('PATCH', path, requireFactor)).toMatchObject({
    status: 200,
    body: { requiresSecondFactor: true },
  })
  expect(await admin.call('GET', path)).toMatchObject({ status: 403, body: { code: 'second_factor_required' } })
  await backdateReauthentication(mailed.service, owner, 360)
  const back = { body: { requiresSecondFactor: false } }
  expect(await owner.call('PATCH', path, back)).toMatchObject({ body: { code: 'reauthentication_required' } })
  await backdateReauthentication(mailed.service, owner, 0)
  expect((await owner.call('PATCH', path, back)).status).toBe(200)
  expect((await admin.call('GET', path)).status).toBe(200)
})

test('an owner can create another organization, with a default team and a name that is not unique', async () => {
  const owner = await newOwner(mailed.service)
  const responses = await Promise.all(
    Array.from({ length: 6 }, () => owner.call('POST', '/v5/me/organizations', { body: { name: 'Ada & Söhne' } })),
  )
  for (const { status, text } of responses) expect(status, text).toBe(201)
  // The first slug looks like all others, so a slug does not reveal whether another organization has that name.
  for (const { body } of responses) expect(body.slug).toMatch(/^ada-sohne-[\da-f]{8}$/)
  expect(new Set(responses.map(({ body }) => body.slug)).size).toBe(6)
  const { id } = responses[0]?.body ?? {}
  expect((await owner.call('GET', path)).body.id).toBe(owner.organizationId)
  const there = { headers: { 'service-organization-id': id } }
  expect((await owner.call('GET', '/v5/members', there)).body).toMatchObject([{ id: owner.userId, role: 'owner' }])
  const teams = (await owner.call('GET', '/v5/teams', there)).body
  expect(teams).toMatchObject([{ isDefault: true }])
  expect((await owner.call('GET', `/v5/teams/${teams[0].id}/members`, there)).body).toMatchObject([
    { id: owner.userId },
  ])
  expect((await owner.call('GET', '/v5/audit-log', there)).body).toMatchObject([{ action: 'organization.created' }])
  expect((await owner.call('POST', '/v5/me/organizations', { body: { name: '&&&' } })).status).toBe(422)
})

test('a person can own at most 20 organizations, also if several are created at once', async () => {
  const owner = await newOwner(mailed.service)
  const create = (name: string) => untilServed(() => owner.call('POST', '/v5/me/organizations', { body: { name } }))
  const created = await Promise.all(Array.from({ length: 25 }, (_, index) => create(`Another ${index}`)))
  const refused = created.filter(({ status }) => status === 409)
  expect(created.filter(({ status }) => status === 201)).toHaveLength(19)
  expect(refused).toHaveLength(6)
  expect(refused[0]?.body).toMatchObject({ code: 'limit_reached' })
  // One that is being deleted still counts.
  const [first] = created.filter(({ status }) => status === 201)
  const path = `/v5/me/organizations/${first?.body.id}/deletion`
  expect((await owner.call('POST', path, { body: { name: first?.body.name } })).status).toBe(200)
  expect((await create('One more')).status).toBe(409)
})

test('without open sign-up, only owners can create organizations', async () => {
  const owner = await newOwner(mailed.service)
  const admin = await mailed.join(owner.call, 'admin')
  const body = { name: 'My own' }
  expect(await admin.call('POST', '/v5/me/organizations', { body })).toMatchObject(forbidden)
  expect((await admin.call('GET', '/v5/me')).body.organizations).toHaveLength(1)
  const open = await startMailedService({ SIGN_UP: 'open' })
  try {
    const member = await open.join((await newOwner(open.service)).call, 'member')
    expect(await member.call('POST', '/v5/me/organizations', { body })).toMatchObject({
      status: 201,
      body: { role: 'owner' },
    })
  } finally {
    await open.close()
  }
})

test('a session can switch immediately between its person’s organizations, but not to others', async () => {
  const owner = await newOwner(mailed.service)
  const outsider = await newOwner(mailed.service)
  const { body: other } = await owner.call('POST', '/v5/me/organizations', { body: { name: 'Second' } })
  const { body: contact } = await owner.call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  const choose = (organizationId: string) => owner.call('POST', '/v5/me/organization', { body: { organizationId } })
  for (let round = 0; round < 3; round++) {
    expect((await choose(other.id)).body).toEqual(other)
    expect((await owner.call('GET', path)).body.id).toBe(other.id)
    expect((await owner.call('GET', `/v5/contacts/${contact.id}`)).status).toBe(404)
    expect((await choose(owner.organizationId)).status).toBe(200)
    expect((await owner.call('GET', `/v5/contacts/${contact.id}`)).body).toEqual(contact)
  }
  for (const id of [outsider.organizationId, `org_${'0'.repeat(32)}`, 'org_1', 'somewhere']) {
    const refused = await choose(id)
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'organizationId' }] } })
  }
  expect((await owner.call('GET', path)).body.id).toBe(owner.organizationId)
})

test('a person who leaves an organization keeps the account and the session, and gets a helpful 403', async () => {
  const owner = await newOwner(mailed.service)
  const member = await mailed.join(owner.call, 'member')
  const leave = (id: string) => member.call('DELETE', `/v5/me/organizations/${id}`)
  expect((await leave((await newOwner(mailed.service)).organizationId)).status).toBe(404)
  expect((await leave(owner.organizationId)).status).toBe(204)
  expect((await leave(owner.organizationId)).status).toBe(404)
  const refused = await member.call('GET', '/v5/contacts')
  expect(refused).toMatchObject(forbidden)
  expect(refused.body.description).toContain('/v5/me/organization')
  const log = await owner.call('GET', '/v5/audit-log?filter.action.equals=member.left')
  expect(log.body).toMatchObject([{ actorId: member.userId, recordId: member.userId, details: { role: 'member' } }])
  // A new invitation brings them back.
  const { token } = await mailed.invite(owner.call, { email: member.email, role: 'viewer' })
  expect((await member.call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
  expect((await member.call('GET', '/v5/contacts')).status).toBe(200)
})

test('an API key cannot create, choose or leave an organization', async () => {
  const service = await startTestService({ SIGN_UP: 'open' })
  try {
    const { call, organizationId } = await service.newOrganization()
    for (const [method, at, body] of [
      ['POST', '/v5/me/organizations', { name: 'Mine' }],
      ['POST', '/v5/me/organization', { organizationId }],
      ['DELETE', `/v5/me/organizations/${organizationId}`, undefined],
      ['POST', '/v5/me/invitations', { token: 'ott_x' }],
    ] as const) {
      expect(await call(method, at, body && { body })).toMatchObject(forbidden)
    }
  } finally {
    await service.close()
  }
})

test('a person removed from the current organization still lists the others and chooses one', async () => {
  const first = await newOwner(mailed.service)
  const member = await mailed.join(first.call, 'member')
  const list = async () => (await member.call('GET', '/v5/me/organizations')).body
  expect(await list()).toEqual([
    {
      id: first.organizationId,
      name: expect.any(String),
      slug: expect.any(String),
      role: 'member',
      isCurrent: true,
      deletesAt: null,
    },
  ])
  const second = await newOwner(mailed.service)
  await mailed.service.database.crossTenantQuery(
    'check the database',
    sql`insert into members (organization_id, user_id, role)
      values (${decodeId('org', second.organizationId)}, ${decodeId('usr', member.userId)}, 'viewer')`,
  )
  expect((await first.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
  expect((await member.call('GET', '/v5/me')).body.code).toBe('insufficient_permissions')
  expect(await list()).toMatchObject([{ id: second.organizationId, role: 'viewer', isCurrent: false }])
  await member.call('POST', '/v5/me/organization', { body: { organizationId: second.organizationId } })
  expect((await member.call('GET', '/v5/me')).body).toMatchObject({ organizationId: second.organizationId })
  expect(await list()).toMatchObject([{ isCurrent: true }])
  expect((await second.organization.call('GET', '/v5/me/organizations')).body.code).toBe('insufficient_permissions')
})
