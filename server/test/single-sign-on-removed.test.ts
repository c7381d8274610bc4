import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { readId } from '../src/platform/model/ids.ts'
import { Browser } from './browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import { newEmail } from './people.ts'
import type { Json } from './service.ts'
import {
  connect,
  goThrough,
  link,
  logInMember,
  type Member,
  newMember,
  newSsoWorld,
  proveDomain,
  type SsoWorld,
  startWithProviders,
} from './single-sign-on-world.ts'

let mailed: MailedService
let provider: IdentityProvider
let other: IdentityProvider
let close: () => Promise<unknown>
const texts = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: mailed, provider, other, close } = await startWithProviders(startMailedService, texts))
})
afterAll(() => close())

const run = <Row extends object>(statement: Sql): Promise<Row[]> =>
  mailed.service.database.crossTenantQuery<Row>('check the database', statement)

interface Scene {
  world: SsoWorld
  domain: string
  /** With a password, and an address of the proved domain unless said. */
  member: Member
  /** The address that the provider vouches for. */
  email: string
}

/** Somebody in an organization whose people join by themselves, whom the provider knows as well. */
async function newScene({ own }: { own?: string } = {}): Promise<Scene> {
  const world = await newSsoWorld(mailed.service, provider, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  const email = `${randomUUID()}@${domain}`
  const member = await newMember(mailed.service, [world.organization.organizationId], { email: own ?? email })
  provider.person = { sub: randomUUID(), email, email_verified: true, name: 'Ada' }
  other.person = { ...provider.person, sub: randomUUID() }
  return { world, domain, member, email }
}

async function remove({ world, member }: Scene): Promise<void> {
  expect((await world.organization.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
}

/** The owner deletes the connection and makes it anew. */
async function renew({ world }: Scene): Promise<SsoWorld> {
  const { organization, connectionId } = world
  expect((await organization.call('DELETE', `/v5/sso-connections/${connectionId}`)).status).toBe(204)
  return connect(world, provider, { defaultRole: 'member' })
}

async function unlink({ member }: Scene): Promise<void> {
  const { call } = await logInMember(mailed.service, member)
  const [identity] = (await call('GET', '/v5/me/identities')).body
  expect((await call('DELETE', `/v5/me/identities/${identity.id}`)).status).toBe(204)
  expect((await call('GET', '/v5/me/identities')).body).toEqual([])
  expect((await call('DELETE', `/v5/me/identities/${identity.id}`)).status).toBe(404)
}

/** The account has another address from now on. */
async function move({ member }: Scene): Promise<void> {
  const email = newEmail()
  await run(sql`update users set email = ${email}, email_key = ${email}, verified_at = now()
    where id = ${readId('usr', member.userId)}::uuid`)
  member.email = email
}

async function logInThere({ world }: Scene): Promise<void> {
  expect((await goThrough(world, new Browser())).hash).toBe('#logged-in')
}

/** The people of the organization, but for its owner. */
async function othersOf({ world: { organization } }: Scene): Promise<string[]> {
  const { body } = await organization.call('GET', '/v5/members?filter.role.in=admin,member,viewer')
  return body.map(({ id }: Json) => id)
}

/** What somebody does who is removed then, or was; gives where they try to come back. */
type Door = (scene: Scene) => Promise<SsoWorld | void>

const doors: [string, Door, { own?: string }?][] = [
  ['has logged in before', async (scene) => (await logInThere(scene), remove(scene))],
  ['never logged in at the provider', remove],
  ['unlinks before', async (scene) => (await logInThere(scene), await unlink(scene), remove(scene))],
  ['unlinks afterwards', async (scene) => (await logInThere(scene), await remove(scene), unlink(scene))],
  ['finds the connection made anew', async (scene) => (await logInThere(scene), await remove(scene), renew(scene))],
  [
    'finds a second provider',
    async (scene) => {
      await logInThere(scene)
      await remove(scene)
      return connect(scene.world, other, { defaultRole: 'member' })
    },
  ],
  ['gives the account another address', async (scene) => (await remove(scene), move(scene))],
  [
    'unlinks and gives the account another address before',
    async (scene) => (await logInThere(scene), await unlink(scene), await move(scene), remove(scene)),
  ],
  [
    'was invited at another address, and linked',
    async (scene) => {
      await link(scene.world, await logInMember(mailed.service, scene.member))
      await remove(scene)
      // The provider takes them for a new person besides.
      provider.person = { ...provider.person, sub: randomUUID() }
      return renew(scene)
    },
    { own: newEmail() },
  ],
  [
    'was invited at another address, and has unlinked before the provider’s address was another',
    async (scene) => {
      await link(scene.world, await logInMember(mailed.service, scene.member))
      await unlink(scene)
      await remove(scene)
      provider.person = { ...provider.person, sub: provider.person?.sub ?? '', email: `other.${scene.email}` }
    },
    { own: newEmail() },
  ],
  [
    'leaves before anybody removes them',
    async ({ world, member }) => {
      const { call } = await logInMember(mailed.service, member)
      const { status } = await call('DELETE', `/v5/me/organizations/${world.organization.organizationId}`)
      expect(status).toBe(204)
    },
  ],
]

test.each(doors)(
  'no log-in at a provider brings somebody back who was removed: one who %s',
  async (_, door, options) => {
    const scene = await newScene(options)
    const there = (await door(scene)) ?? scene.world
    const accounts = await run(sql`select id from users order by id`)
    const browser = new Browser()
    expect((await goThrough(there, browser)).hash).toBe('#sso-error=not-a-member')
    expect(browser.cookie(new URL(mailed.service.url).host, 'rapport')).toBeUndefined()
    expect(await othersOf(scene)).toEqual([])
    expect(await run(sql`select id from users order by id`)).toEqual(accounts)
    const { body } = await scene.world.organization.call('GET', '/v5/audit-log?filter.action.equals=login.failed')
    expect(body).toMatchObject([{ details: { reason: 'not-a-member' } }])
  },
)

test('an invitation brings them back, and their log-ins with them', async () => {
  const scene = await newScene()
  const { world, member } = scene
  const { call } = await logInMember(mailed.service, member)
  for (const before of [() => logInThere(scene), () => unlink(scene), () => renew(scene)]) {
    await before()
    await remove(scene)
    const { token } = await mailed.invite(world.organization.call, { email: member.email })
    expect((await call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
    expect(await othersOf(scene)).toEqual([member.userId])
  }
  const there = await connect(world, provider)
  expect((await goThrough(there, new Browser())).hash).toBe('#sso-error=not-linked')
  await link(there, await logInMember(mailed.service, member))
  expect((await goThrough(there, new Browser())).hash).toBe('#logged-in')
})

test('whoever was invited to the address of somebody who is out logs in with it', async () => {
  const scene = await newScene()
  await logInThere(scene)
  await remove(scene)
  await move(scene)
  const { email, world } = scene
  provider.person = { sub: randomUUID(), email, email_verified: true }
  expect((await goThrough(world, new Browser())).hash).toBe('#sso-error=not-a-member')
  const successor = await newMember(mailed.service, [world.organization.organizationId], { email })
  await logInThere(scene)
  expect(await othersOf(scene)).toEqual([successor.userId])
})

test('to be out of one organization keeps nobody out of another', async () => {
  const scene = await newScene()
  await logInThere(scene)
  await remove(scene)
  const elsewhere = await newSsoWorld(mailed.service, provider, { defaultRole: 'viewer' })
  await proveDomain(elsewhere, texts, scene.domain)
  expect((await goThrough(elsewhere, new Browser())).hash).toBe('#logged-in')
})

test('whoever is removed while they log in is out afterwards', async () => {
  for (let round = 0; round < 5; round++) {
    const scene = await newScene()
    const logins = Array.from({ length: 3 }, () => goThrough(scene.world, new Browser()))
    await Promise.all([...logins, remove(scene)])
    expect(await othersOf(scene)).toEqual([])
    expect((await goThrough(scene.world, new Browser())).hash).toBe('#sso-error=not-a-member')
  }
})

test('an identity that was unlinked can be linked again, by whoever proves it', async () => {
  const scene = await newScene()
  await logInThere(scene)
  await unlink(scene)
  const second = await newMember(mailed.service, [scene.world.organization.organizationId])
  const id = await link(scene.world, await logInMember(mailed.service, second))
  const { call } = await logInMember(mailed.service, second)
  expect((await call('GET', '/v5/me/identities')).body).toMatchObject([{ id, lastUsedAt: null }])
})

test('an organization that goes takes along who was in it', async () => {
  const scene = await newScene()
  await logInThere(scene)
  await unlink(scene)
  await remove(scene)
  const id = readId('org', scene.world.organization.organizationId)
  await run(sql`delete from organizations where id = ${id}::uuid`)
  const left = sql`select user_id from former_members where organization_id = ${id}::uuid
    union all select user_id from sso_identities where organization_id = ${id}::uuid`
  expect(await run(left)).toEqual([])
})
