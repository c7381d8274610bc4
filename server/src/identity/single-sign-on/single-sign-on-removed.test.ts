import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { setAddress } from '../auth/store.ts'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { newEmail } from '../../../test/people.ts'
import type { Json } from '../../../test/service.ts'
import {
  addConnection,
  logInAtProvider,
  linkIdentity,
  logInMember,
  type Member,
  newMember,
  createSsoFixture,
  verifyDomain,
  type SsoFixture,
  startWithProviders,
} from '../../../test/single-sign-on-fixture.ts'

let mailed: MailedService
let provider: IdentityProvider
let other: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: mailed, provider, other, close } = await startWithProviders(startMailedService, txtRecords))
})
afterAll(() => close())

const execute = <Row extends object>(statement: Sql): Promise<Row[]> =>
  mailed.service.database.crossTenantQuery<Row>('check the database', statement)

interface RemovalContext {
  fixture: SsoFixture
  domain: string
  /** Has a password and by default an address of the verified domain. */
  member: Member
  /** The address that the provider vouches for. */
  email: string
}

/** Creates a member of an organization with automatic joining, who also has an account at the provider. */
async function createContext({ memberEmail }: { memberEmail?: string } = {}): Promise<RemovalContext> {
  const fixture = await createSsoFixture(mailed.service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const email = `${randomUUID()}@${domain}`
  const member = await newMember(mailed.service, [fixture.organization.organizationId], { email: memberEmail ?? email })
  provider.person = { sub: randomUUID(), email, email_verified: true, name: 'Ada' }
  other.person = { ...provider.person, sub: randomUUID() }
  return { fixture, domain, member, email }
}

async function removeMember({ fixture, member }: RemovalContext): Promise<void> {
  expect((await fixture.organization.call('DELETE', `/v5/members/${member.userId}`)).status).toBe(204)
}

/** Deletes the connection and creates it again. */
async function recreateConnection({ fixture }: RemovalContext): Promise<SsoFixture> {
  const { organization, connectionId } = fixture
  expect((await organization.call('DELETE', `/v5/sso-connections/${connectionId}`)).status).toBe(204)
  return addConnection(fixture, provider, { defaultRole: 'member' })
}

async function unlinkIdentity({ member }: RemovalContext): Promise<void> {
  const { call } = await logInMember(mailed.service, member)
  const [identity] = (await call('GET', '/v5/me/identities')).body
  expect((await call('DELETE', `/v5/me/identities/${identity.id}`)).status).toBe(204)
  expect((await call('GET', '/v5/me/identities')).body).toEqual([])
  expect((await call('DELETE', `/v5/me/identities/${identity.id}`)).status).toBe(404)
}

/** Changes the address of the account. */
async function changeEmail({ member }: RemovalContext): Promise<void> {
  const email = newEmail()
  const userId = decodeId('usr', member.userId) ?? ''
  await mailed.service.database.crossTenantTransaction('check the database', (db) =>
    setAddress(db, userId, { email, isVerified: true }),
  )
  member.email = email
}

async function expectLogIn({ fixture }: RemovalContext): Promise<void> {
  expect((await logInAtProvider(fixture, new Browser())).hash).toBe('#logged-in')
}

/** The ids of the organization's members except its owner. */
async function otherMembers({ fixture: { organization } }: RemovalContext): Promise<string[]> {
  const { body } = await organization.call('GET', '/v5/members?filter.role.in=admin,member,viewer')
  return body.map(({ id }: Json) => id)
}

/** Removes a person, with actions before or after; returns the connection of the attempt to return. */
type ReturnAttempt = (context: RemovalContext) => Promise<SsoFixture | void>

const returnAttempts: [string, ReturnAttempt, { memberEmail?: string }?][] = [
  ['has logged in before', async (context) => (await expectLogIn(context), removeMember(context))],
  ['never logged in at the provider', removeMember],
  [
    'has unlinked before the removal',
    async (context) => (await expectLogIn(context), await unlinkIdentity(context), removeMember(context)),
  ],
  [
    'unlinks after the removal',
    async (context) => (await expectLogIn(context), await removeMember(context), unlinkIdentity(context)),
  ],
  [
    'uses a recreated connection',
    async (context) => (await expectLogIn(context), await removeMember(context), recreateConnection(context)),
  ],
  [
    'uses a second provider',
    async (context) => {
      await expectLogIn(context)
      await removeMember(context)
      return addConnection(context.fixture, other, { defaultRole: 'member' })
    },
  ],
  ['changes the address of the account', async (context) => (await removeMember(context), changeEmail(context))],
  [
    'has unlinked and changed the address of the account before the removal',
    async (context) => (
      await expectLogIn(context),
      await unlinkIdentity(context),
      await changeEmail(context),
      removeMember(context)
    ),
  ],
  [
    'was invited with another address and has linked an identity',
    async (context) => {
      await linkIdentity(context.fixture, await logInMember(mailed.service, context.member))
      await removeMember(context)
      // The provider also has a new subject for the person.
      provider.person = { ...provider.person, sub: randomUUID() }
      return recreateConnection(context)
    },
    { memberEmail: newEmail() },
  ],
  [
    'was invited with another address and has unlinked before the provider’s address changed',
    async (context) => {
      await linkIdentity(context.fixture, await logInMember(mailed.service, context.member))
      await unlinkIdentity(context)
      await removeMember(context)
      provider.person = { ...provider.person, sub: provider.person?.sub ?? '', email: `other.${context.email}` }
    },
    { memberEmail: newEmail() },
  ],
  [
    'has left the organization',
    async ({ fixture, member }) => {
      const { call } = await logInMember(mailed.service, member)
      const { status } = await call('DELETE', `/v5/me/organizations/${fixture.organization.organizationId}`)
      expect(status).toBe(204)
    },
  ],
]

test.each(returnAttempts)(
  'a login at a provider does not readmit a removed person who %s',
  async (_, attempt, options) => {
    const context = await createContext(options)
    const returnFixture = (await attempt(context)) ?? context.fixture
    const accounts = await execute(sql`select id from users order by id`)
    const browser = new Browser()
    expect((await logInAtProvider(returnFixture, browser)).hash).toBe('#sso-error=not-a-member')
    expect(browser.cookie(new URL(mailed.service.url).host, 'rapport')).toBeUndefined()
    expect(await otherMembers(context)).toEqual([])
    expect(await execute(sql`select id from users order by id`)).toEqual(accounts)
    const { body } = await context.fixture.organization.call('GET', '/v5/audit-log?filter.action.equals=login.failed')
    expect(body).toMatchObject([{ details: { reason: 'not-a-member' } }])
  },
)

test('an invitation readmits a removed person and their single sign-on', async () => {
  const context = await createContext()
  const { fixture, member } = context
  const { call } = await logInMember(mailed.service, member)
  for (const prepare of [
    () => expectLogIn(context),
    () => unlinkIdentity(context),
    () => recreateConnection(context),
  ]) {
    await prepare()
    await removeMember(context)
    const { token } = await mailed.invite(fixture.organization.call, { email: member.email })
    expect((await call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
    expect(await otherMembers(context)).toEqual([member.userId])
  }
  const returnFixture = await addConnection(fixture, provider)
  expect((await logInAtProvider(returnFixture, new Browser())).hash).toBe('#sso-error=not-linked')
  await linkIdentity(returnFixture, await logInMember(mailed.service, member))
  expect((await logInAtProvider(returnFixture, new Browser())).hash).toBe('#logged-in')
})

test('a new member with the address of a removed person can log in with it', async () => {
  const context = await createContext()
  await expectLogIn(context)
  await removeMember(context)
  await changeEmail(context)
  const { email, fixture } = context
  provider.person = { sub: randomUUID(), email, email_verified: true }
  expect((await logInAtProvider(fixture, new Browser())).hash).toBe('#sso-error=not-a-member')
  const successor = await newMember(mailed.service, [fixture.organization.organizationId], { email })
  await expectLogIn(context)
  expect(await otherMembers(context)).toEqual([successor.userId])
})

test('removal from one organization does not affect another', async () => {
  const context = await createContext()
  await expectLogIn(context)
  await removeMember(context)
  const otherFixture = await createSsoFixture(mailed.service, provider, { defaultRole: 'viewer' })
  await verifyDomain(otherFixture, txtRecords, context.domain)
  expect((await logInAtProvider(otherFixture, new Browser())).hash).toBe('#logged-in')
})

test('a person who is removed while logging in stays removed', async () => {
  for (let round = 0; round < 5; round++) {
    const context = await createContext()
    const logins = Array.from({ length: 3 }, () => logInAtProvider(context.fixture, new Browser()))
    await Promise.all([...logins, removeMember(context)])
    expect(await otherMembers(context)).toEqual([])
    expect((await logInAtProvider(context.fixture, new Browser())).hash).toBe('#sso-error=not-a-member')
  }
})

test('an unlinked identity can be linked again by another person who logs in with it', async () => {
  const context = await createContext()
  await expectLogIn(context)
  await unlinkIdentity(context)
  const second = await newMember(mailed.service, [context.fixture.organization.organizationId])
  const id = await linkIdentity(context.fixture, await logInMember(mailed.service, second))
  const { call } = await logInMember(mailed.service, second)
  expect((await call('GET', '/v5/me/identities')).body).toMatchObject([{ id, lastUsedAt: null }])
})

test('deleting an organization deletes its former members and identities', async () => {
  const context = await createContext()
  await expectLogIn(context)
  await unlinkIdentity(context)
  await removeMember(context)
  const id = decodeId('org', context.fixture.organization.organizationId)
  await execute(sql`delete from organizations where id = ${id}::uuid`)
  const remainingSql = sql`select user_id from former_members where organization_id = ${id}::uuid
    union all select user_id from sso_identities where organization_id = ${id}::uuid`
  expect(await execute(remainingSql)).toEqual([])
})
