import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { callAfterReauthentication, backdateReauthentication, newOwner, type TestPerson } from '../../../test/people.ts'
import type { Json } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

const path = (person: { userId: string }) => `/v5/members/${person.userId}`
const locked = { status: 423, body: { code: 'resource_locked' } }
const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }
const reauthenticationRequired = { status: 403, body: { code: 'reauthentication_required' } }

type Owner = Awaited<ReturnType<typeof newOwner>>

/** An organization with a second owner. */
async function twoOwners(): Promise<[Owner, TestPerson]> {
  const first = await newOwner(mailed.service)
  return [first, await mailed.join(first.call, 'owner')]
}

const ownersOf = async (by: { call: TestPerson['call'] }): Promise<string[]> =>
  (await by.call('GET', '/v5/members?filter.role.equals=owner')).body.map(({ id }: Json) => id)

test('members are listed with their people, and can be sorted and filtered by them', async () => {
  const owner = await newOwner(mailed.service)
  const viewer = await mailed.join(owner.call, 'viewer')
  await mailed.join(owner.call, 'member')
  const { body } = await owner.call('GET', '/v5/members?orderBy=person&sort=asc')
  expect(body.map(({ role }: Json) => role)).toEqual(expect.arrayContaining(['owner', 'viewer', 'member']))
  const names = body.map(({ person }: Json) => person.name)
  expect(names.toSorted()).toEqual([...names].sort())
  const found = await owner.call('GET', `/v5/members?filter.person.email.equals=${viewer.email}`)
  expect(found.body).toMatchObject([
    {
      id: viewer.userId,
      role: 'viewer',
      person: { name: 'Person who is viewer', email: viewer.email },
    },
  ])
  expect((await owner.call('GET', '/v5/members/count')).body).toEqual({ count: 3 })
  expect((await owner.call('GET', path(viewer))).body).toEqual(found.body[0])
  expect((await viewer.call('GET', '/v5/members')).body).toHaveLength(3)
})

test('an admin can change and remove members, but can neither change nor create an owner', async () => {
  const owner = await newOwner(mailed.service)
  const admin = await mailed.join(owner.call, 'admin')
  const member = await mailed.join(owner.call, 'member')
  for (const role of ['viewer', 'admin', 'member'] as const) {
    expect(await admin.call('PATCH', path(member), { body: { role } })).toMatchObject({ status: 200, body: { role } })
  }
  for (const refused of [
    await admin.call('PATCH', path(member), { body: { role: 'owner' } }),
    await admin.call('PATCH', path(admin), { body: { role: 'owner' } }),
    await admin.call('PATCH', path(owner), { body: { role: 'viewer' } }),
    await admin.call('DELETE', path(owner)),
    await admin.call('POST', '/v5/invitations', { body: { email: 'another@example.com', role: 'owner' } }),
  ]) {
    expect(refused).toMatchObject(forbidden)
  }
  expect(await ownersOf(owner)).toEqual([owner.userId])
  expect((await admin.call('DELETE', path(member))).status).toBe(204)
  for (const role of ['member', 'viewer'] as const) {
    const other = await mailed.join(owner.call, role)
    const refused = await other.call('PATCH', path(other), { body: { role: 'admin' } })
    expect(refused).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  }
})

test('a key can change members if its scopes name them, and owners only if its creator is an owner', async () => {
  const organization = await mailed.service.newOrganization()
  const { call } = organization
  const member = await mailed.join(call, 'member')
  const wide = await organization.withScopes(['*:*:write', '*:*:read'])
  expect((await wide('PATCH', path(member), { body: { role: 'viewer' } })).body.code).toBe('missing_scopes')
  const named = await organization.withScopes(['member:*:write'])
  expect(await named('PATCH', path(member), { body: { role: 'owner' } })).toMatchObject({ body: { role: 'owner' } })
  // The keys were created by the first owner, who no longer is one.
  expect((await named('PATCH', path(organization), { body: { role: 'admin' } })).status).toBe(200)
  expect(await named('DELETE', path(member))).toMatchObject(forbidden)
  expect(await named('PATCH', path(organization), { body: { role: 'owner' } })).toMatchObject(forbidden)
})

test('changes of owners need re-authentication within the last five minutes', async () => {
  const [first, second] = await twoOwners()
  const member = await mailed.join(first.call, 'member')
  await backdateReauthentication(mailed.service, first, 360)
  for (const refused of [
    await first.call('PATCH', path(member), { body: { role: 'owner' } }),
    await first.call('PATCH', path(second), { body: { role: 'member' } }),
    await first.call('DELETE', path(second)),
    await first.call('DELETE', `/v5/me/organizations/${first.organizationId}`),
    await first.call('POST', '/v5/invitations', { body: { email: 'new@example.com', role: 'owner' } }),
  ]) {
    expect(refused).toMatchObject(reauthenticationRequired)
  }
  expect((await first.call('PATCH', path(member), { body: { role: 'viewer' } })).status).toBe(200)
  const proof = await first.call('POST', '/v5/me/reauthenticate', { body: { password: first.password } })
  const call = callAfterReauthentication(mailed.service, proof)
  expect((await call('PATCH', path(second), { body: { role: 'member' } })).status).toBe(200)
  expect(await ownersOf({ ...first, call })).toEqual([first.userId])
})

test('the last owner cannot be demoted or removed and cannot leave', async () => {
  const owner = await newOwner(mailed.service)
  await mailed.join(owner.call, 'admin')
  for (const refused of [
    await owner.call('PATCH', path(owner), { body: { role: 'admin' } }),
    await owner.call('DELETE', path(owner)),
    await owner.call('DELETE', `/v5/me/organizations/${owner.organizationId}`),
  ]) {
    expect(refused).toMatchObject(locked)
    expect(refused.body.description).toContain('another member an owner')
  }
  expect((await owner.call('PATCH', path(owner), { body: { role: 'owner' } })).status).toBe(200)
  const second = await mailed.join(owner.call, 'owner')
  expect((await owner.call('DELETE', `/v5/me/organizations/${owner.organizationId}`)).status).toBe(204)
  expect(await ownersOf(second)).toEqual([second.userId])
})

test('a disabled owner does not count: the only other owner cannot leave', async () => {
  const [owner, second] = await twoOwners()
  const disabled = (isDisabled: boolean) =>
    mailed.service.database.crossTenantQuery(
      'manage an account',
      sql`update users set disabled_at = case when ${isDisabled}::boolean then now() end
        where id = ${decodeId('usr', second.userId)}::uuid`,
    )
  await disabled(true)
  expect(await owner.call('DELETE', `/v5/me/organizations/${owner.organizationId}`)).toMatchObject(locked)
  expect(await owner.call('PATCH', path(owner), { body: { role: 'admin' } })).toMatchObject(locked)
  await disabled(false)
  expect((await owner.call('PATCH', path(owner), { body: { role: 'admin' } })).status).toBe(200)
})

test('of two owners who leave at the same time, in whatever way, one stays', async () => {
  const [first, second] = await twoOwners()
  const { organizationId } = first
  const ways = [
    (one: TestPerson) => one.call('DELETE', `/v5/me/organizations/${organizationId}`),
    (one: TestPerson) => one.call('DELETE', path(one)),
    (one: TestPerson) => one.call('PATCH', path(one), { body: { role: 'admin' } }),
    (one: TestPerson, other: TestPerson) => other.call('PATCH', path(one), { body: { role: 'viewer' } }),
  ]
  for (let round = 0; round < 16; round++) {
    const [one, two] = [ways[round % 4], ways[Math.floor(round / 4)]]
    const responses = await Promise.all([one?.(first, second), two?.(second, first)])
    const succeeded = responses.map((response) => response !== undefined && response.status < 300)
    expect(
      succeeded.filter(Boolean),
      `round ${round}: ${responses.map((response) => response?.text).join()}`,
    ).toHaveLength(1)
    const stayed = succeeded[0] ? second : first
    expect(await ownersOf(stayed)).toEqual([stayed.userId])
    await mailed.service.database.crossTenantQuery(
      'manage an account',
      sql`insert into members (organization_id, user_id, role)
        select ${decodeId('org', organizationId)}::uuid, id, 'owner'
        from unnest(${[first, second].map(({ userId }) => decodeId('usr', userId))}::uuid[]) id
        on conflict (organization_id, user_id) do update set role = 'owner'`,
    )
  }
})

test('a removed person loses access immediately, and stays logged in and in their other organizations', async () => {
  const owner = await newOwner(mailed.service)
  const elsewhere = await newOwner(mailed.service)
  const person = await mailed.join(owner.call, 'member')
  const { token } = await mailed.invite(elsewhere.call, { email: person.email, role: 'viewer' })
  const joined = await person.call('POST', '/v5/me/invitations', { body: { token } })
  expect(joined, joined.text).toMatchObject({ status: 200, body: { id: elsewhere.organizationId, role: 'viewer' } })
  const { body: contact } = await owner.call('POST', '/v5/contacts', { body: { name: 'Ada', ownerId: person.userId } })
  expect((await person.call('GET', '/v5/contacts')).status).toBe(200)

  expect((await owner.call('DELETE', path(person))).status).toBe(204)
  expect(await person.call('GET', '/v5/contacts')).toMatchObject(forbidden)
  const named = { headers: { 'service-organization-id': owner.organizationId } }
  expect(await person.call('GET', '/v5/contacts', named)).toMatchObject(forbidden)
  expect((await owner.call('GET', path(person))).status).toBe(404)
  expect((await owner.call('DELETE', path(person))).status).toBe(404)
  // The contact still shows its former owner.
  expect((await owner.call('GET', `/v5/contacts/${contact.id}`)).body).toEqual(contact)
  const changed = await owner.call('PATCH', `/v5/contacts/${contact.id}`, { body: { ownerId: person.userId } })
  expect(changed.status).toBe(200)
  const { body: other } = await owner.call('POST', '/v5/contacts', { body: { name: 'Bob' } })
  const refused = await owner.call('PATCH', `/v5/contacts/${other.id}`, { body: { ownerId: person.userId } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'ownerId' }] } })

  const there = { headers: { 'service-organization-id': elsewhere.organizationId } }
  expect((await person.call('GET', '/v5/contacts', there)).status).toBe(200)
  const chosen = await person.call('POST', '/v5/me/organization', {
    body: { organizationId: elsewhere.organizationId },
  })
  expect(chosen).toMatchObject({ status: 200, body: { id: elsewhere.organizationId, role: 'viewer' } })
  expect((await person.call('GET', '/v5/contacts')).status).toBe(200)
})

test('a role change with an outdated If-Match is rejected, and role changes are audited', async () => {
  const owner = await newOwner(mailed.service)
  const member = await mailed.join(owner.call, 'member')
  const etag = (await owner.call('GET', path(member))).headers.get('etag') ?? ''
  expect((await owner.call('PATCH', path(member), { body: { role: 'viewer' } })).status).toBe(200)
  for (const method of ['PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { body: { role: 'admin' } } : {}
    const refused = await owner.call(method, path(member), { ...body, headers: { 'if-match': etag } })
    expect(refused).toMatchObject({ status: 412, body: { code: 'precondition_failed' } })
  }
  const log = (await owner.call('GET', `/v5/audit-log?filter.recordId.equals=${member.userId}&sort=desc`)).body
  expect(log).toMatchObject([
    {
      action: 'member.updated',
      actorId: owner.userId,
      recordType: 'member',
      details: { fields: ['role'], role: 'viewer' },
    },
    { action: 'member.added', actorId: member.userId, details: { role: 'member', by: 'invitation' } },
  ])
})
