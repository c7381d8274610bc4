import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner, type TestPerson } from '../../../test/people.ts'

let mailed: MailedService
let owner: Awaited<ReturnType<typeof newOwner>>
beforeAll(async () => {
  mailed = await startMailedService()
  owner = await newOwner(mailed.service)
})
afterAll(() => mailed.close())

const path = (person: { userId: string }) => `/v5/members/${person.userId}`
const forbidden = { status: 403, body: { code: 'insufficient_permissions' } }
const lacksScopes = { status: 403, body: { code: 'missing_scopes' } }
const selling = ['contact:*:read', 'contact:*:write', 'user:get:read', 'role:*:read', 'organization:*:read']
let number = 0

async function newRole(body: object = {}, by: { call: TestPerson['call'] } = owner) {
  const made = await by.call('POST', '/v5/roles', { body: { name: `Sales ${++number}`, scopes: selling, ...body } })
  expect(made.status, made.text).toBe(201)
  return made.body
}

async function personWith(roleId: string): Promise<TestPerson> {
  const person = await mailed.join(owner.call, 'viewer')
  const changed = await owner.call('PATCH', path(person), { body: { roleId } })
  expect(changed, changed.text).toMatchObject({ status: 200, body: { role: 'custom', roleId } })
  return person
}

test('a role has a name, scopes in full form, and a reach for each resource', async () => {
  const role = await newRole({ description: 'Sells', reach: { deal: 'own', contact: 'team' } })
  expect(role).toMatchObject({
    description: 'Sells',
    scopes: expect.arrayContaining(['urn:service:contact:*:read']),
    reach: { contact: 'team', company: 'all', deal: 'own', task: 'all', campaign: 'all' },
  })
  const changed = await owner.call('PATCH', `/v5/roles/${role.id}`, { body: { reach: { deal: 'all' } } })
  expect(changed.body.reach).toEqual({ ...role.reach, deal: 'all' })
  for (const body of [
    { name: 'Wrong', scopes: selling, reach: { contact: 'mine' } },
    { name: 'Wrong', scopes: selling, reach: { team: 'own' } },
    { name: 'Wrong', scopes: ['contact:fly:write'] },
    { name: 'Wrong', scopes: [] },
    { name: role.name.toUpperCase(), scopes: ['contact:list'] },
  ])
    expect((await owner.call('POST', '/v5/roles', { body })).status).toBe(422)
  const twice = await owner.call('POST', '/v5/roles', { body: { name: role.name.toUpperCase(), scopes: selling } })
  expect(twice).toMatchObject({ status: 409, body: { details: [{ field: 'name', id: role.id }] } })
})

test('the built-in roles are listed with their scopes, and see everything', async () => {
  const { body } = await owner.call('GET', '/v5/roles/built-in')
  expect(body.map(({ role }: { role: string }) => role)).toEqual(['owner', 'admin', 'member', 'viewer'])
  expect(body[3].scopes).toContain('urn:service:contact:*:read')
  expect(new Set(Object.values(body[2].reach))).toEqual(new Set(['all']))
  for (const { role, scopes } of body) await newRole({ name: `Like ${role}`, scopes })
})

test('a person with a custom role has its scopes, and changes of it apply to the next request', async () => {
  const role = await newRole()
  const person = await personWith(role.id)
  const create = () => person.call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  expect((await create()).status).toBe(201)
  expect(await person.call('GET', '/v5/deals')).toMatchObject(lacksScopes)
  const me = (await person.call('GET', '/v5/me')).body
  expect([me.organizations[0].role, me.credential.scopes]).toEqual(['custom', role.scopes])
  await owner.call('PATCH', `/v5/roles/${role.id}`, { body: { scopes: ['contact:*:read', 'deal:*:read'] } })
  expect(await create()).toMatchObject(lacksScopes)
  expect((await person.call('GET', '/v5/deals')).status).toBe(200)
  const back = await owner.call('PATCH', path(person), { body: { role: 'member' } })
  expect(back.body).toMatchObject({ role: 'member', roleId: null })
  expect((await create()).status).toBe(201)
})

test('a custom role needs its id, and a built-in one has none', async () => {
  const role = await newRole()
  const person = await mailed.join(owner.call, 'viewer')
  for (const body of [{ role: 'custom' }, { role: 'admin', roleId: role.id }, { roleId: `rol_${'0'.repeat(32)}` }]) {
    const refused = await owner.call('PATCH', path(person), { body })
    expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'roleId' }] } })
  }
  expect((await owner.call('PATCH', path(person), { body: { role: 'custom', roleId: role.id } })).status).toBe(200)
  expect((await owner.call('PATCH', path(person), { body: { roleId: null } })).status).toBe(422)
  expect((await owner.call('GET', `/v5/members?roleId=${role.id}`)).body).toMatchObject([{ id: person.userId }])
})

test('a role that somebody has cannot be deleted, and the error says how many', async () => {
  const role = await newRole()
  const [person] = [await personWith(role.id), await personWith(role.id)]
  const invitation = { email: 'invited@example.com', role: 'custom', roleId: role.id }
  const invited = await owner.call('POST', '/v5/invitations', { body: invitation })
  expect(invited, invited.text).toMatchObject({ status: 201, body: { role: 'custom', roleId: role.id } })
  const refused = await owner.call('DELETE', `/v5/roles/${role.id}`)
  expect(refused).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  expect(refused.body.description).toContain('2 members, 1 invitation.')
  await owner.call('DELETE', `/v5/invitations/${invited.body.id}`)
  for (const { id } of (await owner.call('GET', `/v5/members?roleId=${role.id}`)).body)
    await owner.call('PATCH', `/v5/members/${id}`, { body: { role: 'viewer' } })
  expect((await owner.call('DELETE', `/v5/roles/${role.id}`)).status).toBe(204)
  expect((await owner.call('PATCH', path(person), { body: { roleId: role.id } })).status).toBe(422)
  expect((await owner.call('POST', `/v5/roles/${role.id}/restore`)).status).toBe(200)
})

test('an invitation gives a custom role, and its preview shows the name', async () => {
  const role = await newRole({ name: 'Field sales' })
  const { token, email } = await mailed.invite(owner.call, { role: 'custom', roleId: role.id })
  const preview = await mailed.service.anonymous('POST', '/auth/invitations/preview', { body: { token } })
  expect(preview.body.role).toBe('Field sales')
  const body = { token, name: 'Grace Hopper', password: 'analytical engine tandem' }
  const accepted = await mailed.service.anonymous('POST', '/auth/invitations/accept', { body })
  expect(accepted.status, accepted.text).toBe(200)
  const found = await owner.call('GET', `/v5/members?filter.person.email.equals=${email}`)
  expect(found.body).toMatchObject([{ role: 'custom', roleId: role.id }])
})

test('nobody defines or assigns a role with more than their own', async () => {
  const admin = await mailed.join(owner.call, 'admin')
  const guarded = { name: 'Guarded', scopes: ['member:*:write'] }
  expect(await admin.call('POST', '/v5/roles', { body: guarded })).toMatchObject(lacksScopes)
  const manager = await newRole({ scopes: [...selling, 'member:*:write', 'role:*:write'], reach: { contact: 'team' } })
  const system = await newRole({ scopes: ['system:*:read'] })
  const member = await mailed.join(owner.call, 'member')
  expect(await admin.call('PATCH', path(member), { body: { roleId: system.id } })).toMatchObject(lacksScopes)
  const wider = { scopes: [...selling, 'member:*:write', 'role:*:write'], name: 'Renamed' }
  expect((await admin.call('PATCH', `/v5/roles/${manager.id}`, { body: wider })).status).toBe(200)

  const person = await personWith(manager.id)
  const makes = (body: object) => person.call('POST', '/v5/roles', { body: { name: `Made ${++number}`, ...body } })
  expect(await makes({ scopes: ['deal:*:read'] })).toMatchObject(lacksScopes)
  expect(await makes({ scopes: ['member:*:write'] })).toMatchObject(lacksScopes)
  expect(await makes({ scopes: ['contact:*:read'] })).toMatchObject(forbidden)
  const narrow = await makes({ scopes: ['contact:*:read'], reach: { contact: 'own' } })
  expect(narrow.status, narrow.text).toBe(201)
  const widened = { body: { reach: { contact: 'all' } } }
  expect(await person.call('PATCH', `/v5/roles/${narrow.body.id}`, widened)).toMatchObject(forbidden)
  const own = await person.call('PATCH', `/v5/roles/${manager.id}`, { body: { name: 'Mine' } })
  expect(own).toMatchObject(forbidden)

  // Custom roles are all that they can assign, and only within their own.
  const all = await newRole({ scopes: ['contact:*:read'] })
  const colleague = await personWith(narrow.body.id)
  expect((await person.call('PATCH', path(colleague), { body: { roleId: manager.id } })).status).toBe(200)
  expect((await person.call('PATCH', path(colleague), { body: { roleId: narrow.body.id } })).status).toBe(200)
  expect(await person.call('PATCH', path(colleague), { body: { roleId: all.id } })).toMatchObject(forbidden)
  expect(await person.call('PATCH', path(colleague), { body: { roleId: system.id } })).toMatchObject(lacksScopes)
  expect(await person.call('PATCH', path(colleague), { body: { role: 'viewer' } })).toMatchObject(forbidden)
  expect(await person.call('PATCH', path(person), { body: { role: 'admin' } })).toMatchObject(forbidden)
  expect(await person.call('PATCH', path(member), { body: { roleId: narrow.body.id } })).toMatchObject(forbidden)
  expect(await person.call('DELETE', path(admin))).toMatchObject(forbidden)
})

test('a manager cannot narrow, delete or restore a role that allows more than theirs, and so not remove its members', async () => {
  const managing = [...selling, 'member:*:write', 'role:*:write']
  const manager = await newRole({ scopes: managing, reach: { contact: 'team' } })
  const seesMore = await newRole({ scopes: ['contact:*:read'] })
  const doesMore = await newRole({ scopes: ['contact:*:read', 'deal:*:write'], reach: { contact: 'own' } })
  const person = await personWith(manager.id)
  for (const wider of [seesMore, doesMore]) {
    const member = await personWith(wider.id)
    const refusal = wider === seesMore ? forbidden : lacksScopes
    const role = `/v5/roles/${wider.id}`
    const narrowed = { body: { scopes: ['contact:*:read'], reach: { contact: 'own' } } }
    expect(await person.call('PATCH', role, narrowed)).toMatchObject(refusal)
    expect(await person.call('PATCH', role, { body: { name: 'Harmless' } })).toMatchObject(refusal)
    expect(await person.call('DELETE', path(member))).toMatchObject(refusal)
    expect((await owner.call('PATCH', path(member), { body: { role: 'viewer' } })).status).toBe(200)
    expect(await person.call('DELETE', role)).toMatchObject(refusal)
    expect((await owner.call('DELETE', role)).status).toBe(204)
    expect(await person.call('POST', `${role}/restore`)).toMatchObject(refusal)
    expect((await owner.call('POST', `${role}/restore`)).status).toBe(200)
  }
  const within = await newRole({ scopes: ['contact:*:read'], reach: { contact: 'own' } })
  expect((await person.call('PATCH', `/v5/roles/${within.id}`, { body: { name: 'Within theirs' } })).status).toBe(200)
  expect((await person.call('DELETE', `/v5/roles/${within.id}`)).status).toBe(204)
})

test('a role of another organization does not exist, whatever its scopes are', async () => {
  const others = await newOwner(mailed.service)
  const foreign = await newRole({ scopes: ['deal:*:write'] }, others)
  const administrating = await newRole({ scopes: [...selling, 'member:*:write', 'member:*:read'] })
  const admin = await personWith(administrating.id)
  const person = await personWith((await newRole()).id)
  for (const roleId of [foreign.id, `rol_${'0'.repeat(32)}`]) {
    const changed = await admin.call('PATCH', path(person), { body: { roleId } })
    expect(changed, changed.text).toMatchObject({ status: 422, body: { details: [{ field: 'roleId' }] } })
  }
})

test('only owners and admins invite people, whatever a role allows', async () => {
  const role = await newRole({ scopes: [...selling, 'invitation:*:write'] })
  const person = await personWith(role.id)
  const body = { email: 'friend@example.com', role: 'viewer' }
  expect(await person.call('POST', '/v5/invitations', { body })).toMatchObject(forbidden)
})

test('the last owner cannot become a custom role', async () => {
  const role = await newRole()
  const refused = await owner.call('PATCH', path(owner), { body: { roleId: role.id } })
  expect(refused).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
})

test('roles are in the audit log, and so is who gets them', async () => {
  const role = await newRole()
  const person = await personWith(role.id)
  await owner.call('PATCH', `/v5/roles/${role.id}`, { body: { description: 'Changed' } })
  const { body } = await owner.call('GET', '/v5/audit-log?limit=3')
  expect(body).toMatchObject([
    { action: 'role.updated', recordId: role.id, details: { fields: ['description'] } },
    { action: 'member.updated', recordId: person.userId, details: { role: 'custom', roleId: role.id } },
    expect.anything(),
  ])
})
