import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from './mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from './people.ts'
import { personWith } from './reach-fixture.ts'
import { runsOf, seed } from './seed.ts'
import type { Json } from './service.ts'
import { reachLevels } from '../src/platform/model/reach.ts'

let mailed: MailedService
let owner: TestOwner
let person: TestPerson
/** The call of an API key that the person created while they could. */
let keyCall: TestPerson['call']
let colleagues: TestPerson[]
let roleId: string
let teams: string[]
let contacts: Json[]
let deals: Json[]

const counts = { contacts: 24, deals: 16 }

beforeAll(async () => {
  mailed = await startMailedService()
  owner = await newOwner(mailed.service)
  const { call } = owner
  const scopes = ['contact:*:read', 'deal:*:read', 'team:*:read', 'api-key:*:write']
  roleId = (await call('POST', '/v5/roles', { body: { name: 'Any', scopes } })).body.id
  person = await personWith(mailed, owner, roleId)
  colleagues = [await mailed.join(call, 'member'), await mailed.join(call, 'member')]
  const made = await person.call('POST', '/v5/api-keys', {
    body: { name: 'Any', scopes: ['contact:*:read', 'deal:*:read'] },
  })
  expect(made.status, made.text).toBe(201)
  const headers = {
    authorization: `Bearer ${made.body.apiKey}`,
    'service-organization-id': owner.organizationId,
  }
  keyCall = (method, path, options = {}) => mailed.service.anonymous(method, path, { ...options, headers })
  const [home] = (await call('GET', '/v5/teams')).body
  const create = async (path: string, body: object) => (await call('POST', path, { body })).body
  teams = [
    home.id,
    (await create('/v5/teams', { name: 'North' })).id,
    (await create('/v5/teams', { name: 'South' })).id,
  ]
  const owners = [null, person.userId, ...colleagues.map(({ userId }) => userId)]
  contacts = []
  for (let index = 0; index < counts.contacts; index++)
    contacts.push(
      await create('/v5/contacts', {
        name: `Contact ${index}`,
        ownerId: owners[index % owners.length],
        teamId: teams[Math.floor(index / owners.length) % teams.length],
      }),
    )
  deals = []
  for (let index = 0; index < counts.deals; index++)
    deals.push(await create('/v5/deals', { name: `Deal ${index}`, ownerId: owners[index % owners.length] }))
}, 60_000)
afterAll(() => mailed.close())

/** Who is in which of the two teams: the person, then the colleagues. */
type Membership = readonly boolean[][]

const state = fc.record({
  contact: fc.constantFrom(...reachLevels),
  deal: fc.constantFrom(...reachLevels),
  membership: fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 3, maxLength: 3 }),
})

async function arrange({ contact, deal, membership }: { contact: string; deal: string; membership: Membership }) {
  const changed = await owner.call('PATCH', `/v5/roles/${roleId}`, { body: { reach: { contact, deal } } })
  expect(changed.status, changed.text).toBe(200)
  for (const [index, one] of [person, ...colleagues].entries())
    for (const [number, teamId] of teams.slice(1).entries()) {
      const path = `/v5/teams/${teamId}/members/${one.userId}`
      await owner.call(membership[index]?.[number] ? 'POST' : 'DELETE', path)
    }
}

/** The rules of docs/guides/permissions.md, in another language. */
function isSeen(level: string, membership: Membership, { ownerId, teamId = teams[0] }: Json): boolean {
  const people = [person, ...colleagues].map(({ userId }) => userId)
  const own = membership[0] ?? []
  const isColleague = people.some(
    (id, index) => id === ownerId && own.some((isIn, team) => isIn && membership[index]?.[team]),
  )
  if (level === 'all' || ownerId === person.userId) return true
  if (level === 'own') return false
  const team = teams.indexOf(teamId)
  return team === 0 ? isColleague : own[team - 1] === true
}

test('whatever the reach and the teams, lists, counts, searches and single records show what the rules say', async () => {
  await fc.assert(
    fc.asyncProperty(state, async (wanted) => {
      await arrange(wanted)
      for (const call of [person.call, keyCall])
        for (const [path, level, all] of [
          ['/v5/contacts', wanted.contact, contacts],
          ['/v5/deals', wanted.deal, deals],
        ] as const) {
          const expected = all.filter((row) => isSeen(level, wanted.membership, row)).map(({ id }) => id)
          const listed = await call('GET', `${path}?limit=100&orderBy=createdAt&sort=asc`)
          expect(listed.body.map(({ id }: Json) => id)).toEqual(expected)
          expect((await call('GET', `${path}/count`)).body).toEqual({ count: expected.length })
          const others = all.map(({ id }) => id).filter((id) => !expected.includes(id))
          const body = { filter: { id: { in: others.slice(0, 1).concat(expected.slice(0, 1)) } } }
          if (others.length + expected.length > 0)
            expect((await call('POST', `${path}/search/count`, { body })).body.count).toBe(Math.min(1, expected.length))
          if (others[0]) expect((await call('GET', `${path}/${others[0]}`)).status).toBe(404)
          if (expected[0]) expect((await call('GET', `${path}/${expected[0]}`)).status).toBe(200)
        }
    }),
    { numRuns: runsOf(12), seed },
  )
}, 60_000)
