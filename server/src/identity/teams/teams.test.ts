import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const locked = { status: 423, body: { code: 'resource_locked', status: 423 } }

test('an organization has a default team, which cannot be deleted', async () => {
  const { call, teamId } = await service.newOrganization()
  const { body: teams } = await call('GET', '/v5/teams')
  expect(teams).toMatchObject([{ id: teamId, isDefault: true }])
  expect(await call('DELETE', `/v5/teams/${teamId}`)).toMatchObject(locked)
  expect((await call('GET', `/v5/teams/${teamId}`)).body).toEqual(teams[0])
  expect((await call('PATCH', `/v5/teams/${teamId}`, { body: { name: 'Headquarters' } })).status).toBe(200)
})

test('no other team can become the default one', async () => {
  const { call, teamId } = await service.newOrganization()
  const refused = await call('POST', '/v5/teams', { body: { name: 'Berlin', isDefault: true } })
  expect(refused.body.details).toEqual([{ field: 'isDefault', message: 'is read-only' }])
  const { body: made } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  expect(made.isDefault).toBe(false)
  for (const id of [made.id, teamId]) {
    expect((await call('PATCH', `/v5/teams/${id}`, { body: { isDefault: true } })).status).toBe(422)
  }
})

test('a team with contacts cannot be deleted until they are moved or deleted', async () => {
  const { call, teamId } = await service.newOrganization()
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const [ada, bob] = await Promise.all(
    ['Ada', 'Bob'].map(async (name) => (await call('POST', '/v5/contacts', { body: { name, teamId: team.id } })).body),
  )
  const refused = await call('DELETE', `/v5/teams/${team.id}`)
  expect(refused).toMatchObject(locked)
  expect(refused.body.description).toMatch(/move them/i)
  await call('PATCH', `/v5/contacts/${ada.id}`, { body: { teamId } })
  expect(await call('DELETE', `/v5/teams/${team.id}`)).toMatchObject(locked)
  await call('DELETE', `/v5/contacts/${bob.id}`)
  expect((await call('DELETE', `/v5/teams/${team.id}`)).status).toBe(204)
  const restored = await call('POST', `/v5/contacts/${bob.id}/restore`)
  expect(restored).toMatchObject({ status: 200, body: { teamId } })
})

test('a contact restored to the default team must not duplicate an address or external id there', async () => {
  const { call } = await service.newOrganization()
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const [byEmail, byExternalId] = [{ email: 'ada@example.com' }, { name: 'Ada', externalIds: { billing: 'cus_1' } }]
  for (const [field, body] of [
    ['email', byEmail],
    ['externalIds', byExternalId],
  ] as const) {
    const { body: holder } = await call('POST', '/v5/contacts', { body })
    const { body: other } = await call('POST', '/v5/contacts', { body: { ...body, teamId: team.id } })
    await call('DELETE', `/v5/contacts/${other.id}`)
    await call('DELETE', `/v5/teams/${team.id}`)
    const refused = await call('POST', `/v5/contacts/${other.id}/restore`)
    expect(refused).toMatchObject({ status: 409, body: { details: [{ field }] } })
    expect(refused.body.details[0].message).toContain(holder.id)
    await call('POST', `/v5/teams/${team.id}/restore`)
    expect((await call('POST', `/v5/contacts/${other.id}/restore`)).body.teamId).toBe(team.id)
    await call('DELETE', `/v5/contacts/${other.id}`)
  }
})

test('a contact cannot be added to a deleted team', async () => {
  const { call } = await service.newOrganization()
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  await call('DELETE', `/v5/teams/${team.id}`)
  for (const response of [
    await call('POST', '/v5/contacts', { body: { name: 'Bob', teamId: team.id } }),
    await call('PATCH', `/v5/contacts/${contact.id}`, { body: { teamId: team.id } }),
  ]) {
    expect(response).toMatchObject({
      status: 422,
      body: { code: 'invalid_field_value', details: [{ field: 'teamId' }] },
    })
  }
})

test('a contact is never added to a team while the team is being deleted', async () => {
  const { call } = await service.newOrganization()
  for (let round = 0; round < 10; round++) {
    const { body: team } = await call('POST', '/v5/teams', { body: { name: `Team ${round}` } })
    const [made, deleted] = await Promise.all([
      call('POST', '/v5/contacts', { body: { name: 'Ada', teamId: team.id } }),
      call('DELETE', `/v5/teams/${team.id}`),
    ])
    expect([
      [201, 423],
      [422, 204],
    ]).toContainEqual([made.status, deleted.status])
  }
})

test('a contact is never restored into a team while the team is being deleted', async () => {
  const { call, teamId } = await service.newOrganization()
  for (let round = 0; round < 10; round++) {
    const { body: team } = await call('POST', '/v5/teams', { body: { name: `Team ${round}` } })
    const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Ada', teamId: team.id } })
    await call('DELETE', `/v5/contacts/${contact.id}`)
    const [restored, deleted] = await Promise.all([
      call('POST', `/v5/contacts/${contact.id}/restore`),
      call('DELETE', `/v5/teams/${team.id}`),
    ])
    expect(restored.status).toBe(200)
    expect([
      [team.id, 423],
      [teamId, 204],
    ]).toContainEqual([restored.body.teamId, deleted.status])
  }
})

test('a team’s name is unique among undeleted teams, ignoring case and accents', async () => {
  const { call } = await service.newOrganization()
  const { body: first } = await call('POST', '/v5/teams', { body: { name: 'Zürich' } })
  for (const name of ['Zürich', 'ZÜRICH', 'zurich']) {
    const refused = await call('POST', '/v5/teams', { body: { name } })
    expect(refused, name).toMatchObject({ status: 409, body: { code: 'already_exists', details: [{ field: 'name' }] } })
    expect(refused.body.details[0].id, name).toBe(first.id)
  }
  await call('DELETE', `/v5/teams/${first.id}`)
  const { body: second } = await call('POST', '/v5/teams', { body: { name: 'zurich' } })
  const refused = await call('POST', `/v5/teams/${first.id}/restore`)
  expect(refused.status).toBe(409)
  expect(refused.body.details[0].message).toContain(second.id)
})
