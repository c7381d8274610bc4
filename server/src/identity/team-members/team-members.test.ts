import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newOwner } from '../../../test/people.ts'
import type { Json } from '../../../test/service.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

const idsOf = ({ body }: { body: Json }): string[] => body.map(({ id }: Json) => id)

test('every member is in the default team and cannot be removed from it', async () => {
  const owner = await newOwner(mailed.service)
  const member = await mailed.join(owner.call, 'member')
  const [{ id: teamId }] = (await owner.call('GET', '/v5/teams')).body
  const path = `/v5/teams/${teamId}/members`
  expect(idsOf(await owner.call('GET', `${path}?sort=asc`))).toEqual([owner.userId, member.userId])
  const refused = await owner.call('DELETE', `${path}/${member.userId}`)
  expect(refused).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  expect((await owner.call('GET', `${path}/count`)).body).toEqual({ count: 2 })
  await owner.call('DELETE', `/v5/members/${member.userId}`)
  expect(idsOf(await owner.call('GET', path))).toEqual([owner.userId])
})

test('adding a member to a team is idempotent, and a member can be removed again', async () => {
  const owner = await newOwner(mailed.service)
  const member = await mailed.join(owner.call, 'viewer')
  const { body: team } = await owner.call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const path = `/v5/teams/${team.id}/members`
  const one = `${path}/${member.userId}`
  expect((await owner.call('GET', path)).body).toEqual([])
  const added = await owner.call('POST', one)
  expect(added).toMatchObject({ status: 200, body: { id: member.userId, person: { email: member.email } } })
  expect((await owner.call('POST', one)).body).toEqual(added.body)
  expect((await member.call('GET', one)).body).toEqual(added.body)
  expect(await member.call('DELETE', one)).toMatchObject({ status: 403, body: { code: 'missing_scopes' } })
  expect((await owner.call('DELETE', one)).status).toBe(204)
  expect((await owner.call('DELETE', one)).status).toBe(404)
  expect((await owner.call('GET', path)).body).toEqual([])
  const log = (await owner.call('GET', '/v5/audit-log?filter.action.startsWith=team-member&sort=asc')).body
  expect(log.map(({ action, recordId, details }: Json) => [action, recordId, details.teamId])).toEqual([
    ['team-member.added', member.userId, team.id],
    ['team-member.removed', member.userId, team.id],
  ])
})

test('a team accepts only members of its organization, and a deleted team none', async () => {
  const owner = await newOwner(mailed.service)
  const outsider = await newOwner(mailed.service)
  const { body: team } = await owner.call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: theirs } = await outsider.call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  expect((await owner.call('POST', `/v5/teams/${team.id}/members/${outsider.userId}`)).status).toBe(404)
  expect((await owner.call('POST', `/v5/teams/${theirs.id}/members/${owner.userId}`)).status).toBe(404)
  await owner.call('POST', `/v5/teams/${team.id}/members/${owner.userId}`)
  await owner.call('DELETE', `/v5/teams/${team.id}`)
  for (const [method, path] of [
    ['GET', ''],
    ['POST', `/${owner.userId}`],
    ['DELETE', `/${owner.userId}`],
  ] as const) {
    expect((await owner.call(method, `/v5/teams/${team.id}/members${path}`)).status, method).toBe(404)
  }
  await owner.call('POST', `/v5/teams/${team.id}/restore`)
  expect(idsOf(await owner.call('GET', `/v5/teams/${team.id}/members`))).toEqual([owner.userId])
})

test('a contact that moves to another team is visible only there', async () => {
  const owner = await newOwner(mailed.service)
  const [{ id: first }] = (await owner.call('GET', '/v5/teams')).body
  const { body: second } = await owner.call('POST', '/v5/teams', { body: { name: 'Berlin' } })
  const { body: contact } = await owner.call('POST', '/v5/contacts', {
    body: { name: 'Ada', email: 'ada@example.com' },
  })
  const seenBy = async (teamId: string) =>
    (await owner.call('GET', `/api/teams/${teamId}/contacts/${contact.id}`)).status
  expect([await seenBy(first), await seenBy(second.id)]).toEqual([200, 404])
  const moved = await owner.call('PATCH', `/v5/contacts/${contact.id}`, { body: { teamId: second.id } })
  expect(moved).toMatchObject({ status: 200, body: { teamId: second.id, rootContactId: contact.rootContactId } })
  expect([await seenBy(first), await seenBy(second.id)]).toEqual([404, 200])
  const listed = async (teamId: string) => idsOf(await owner.call('GET', `/api/teams/${teamId}/contacts`))
  expect([await listed(first), await listed(second.id)]).toEqual([[], [contact.id]])
  const member = await mailed.join(owner.call, 'member')
  const viewer = await mailed.join(owner.call, 'viewer')
  const back = { body: { teamId: first } }
  expect((await viewer.call('PATCH', `/v5/contacts/${contact.id}`, back)).status).toBe(403)
  expect((await member.call('PATCH', `/v5/contacts/${contact.id}`, back)).body.teamId).toBe(first)
  const rival = { body: { email: 'ada@example.com', teamId: second.id } }
  expect((await member.call('POST', '/v5/contacts', rival)).status).toBe(201)
  expect(await member.call('PATCH', `/v5/contacts/${contact.id}`, { body: { teamId: second.id } })).toMatchObject({
    status: 409,
    body: { details: [{ field: 'email' }] },
  })
})
