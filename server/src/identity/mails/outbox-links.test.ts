import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { Browser } from '../../../test/browser.ts'
import type { IdentityProvider } from '../../../test/identity-provider.ts'
import {
  callAs,
  goodPassword,
  handedOverToken,
  logIn,
  loggedIn,
  newEmail,
  newOwner,
  type TestOwner,
  tokenInLink,
} from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { type Call, startTestService, type TestService } from '../../../test/service.ts'
import {
  logInAtProvider,
  createSsoFixture,
  verifyDomain,
  startWithProviders,
  readProfile,
} from '../../../test/single-sign-on-fixture.ts'

let service: TestService
let provider: IdentityProvider
let close: () => Promise<unknown>
const txtRecords = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, close } = await startWithProviders(startTestService, txtRecords))
})
afterAll(() => close())

const invalidLink = { status: 422, body: { details: [{ field: 'token' }] } }
const post = (path: string, body: unknown) => service.anonymous('POST', path, { body })

/** The token of the newest link of this kind to the address, which the owner reads in the outbox. */
async function readLink(owner: { call: Call }, email: string, kind: string): Promise<string> {
  const query = `filter.status.equals=kept&filter.kind.equals=${kind}&filter.recipient.equals=${email}`
  const storedMails = async () => (await owner.call('GET', `/v5/mails?${query}`)).body
  await until('the mail is in the outbox', async () => (await storedMails()).length > 0)
  const [{ id }] = await storedMails()
  const { status, body, text } = await owner.call('GET', `/v5/mails/${id}/content`)
  expect(status, text).toBe(200)
  return tokenInLink(body.links[0])
}

/** Invites, and returns the token of a link that the operator prints, as an owner of another organization reads none. */
async function invite(owner: TestOwner, email: string, role = 'member'): Promise<string> {
  const created = await owner.call('POST', '/v5/invitations', { body: { email, role } })
  expect(created.status, created.text).toBe(201)
  return handedOverToken(service, owner.organizationId, email)
}

interface Person {
  email: string
  userId: string
  call: Call
}

/** Creates a member with an invitation link that was not mailed. */
async function newMember(owner: TestOwner, { email = newEmail(), role = 'member' } = {}): Promise<Person> {
  const token = await invite(owner, email, role)
  const accepted = await post('/auth/invitations/accept', { token, name: 'Grace', password: goodPassword })
  expect(accepted.status, accepted.text).toBe(200)
  const { userId, accessToken } = accepted.body
  return { email, userId, call: callAs(service, accessToken) }
}

async function readReset(owner: TestOwner, email: string): Promise<string> {
  expect((await post('/auth/forgot-password', { email })).status).toBe(202)
  return readLink(owner, email, 'reset-password')
}

const isVerified = async ({ userId }: Pick<Person, 'userId'>): Promise<boolean> => {
  const rows = await service.database.crossTenantQuery(
    'check the database',
    sql`select from users where id = ${decodeId('usr', userId)}::uuid and verified_at is not null`,
  )
  return rows.length > 0
}

const makeVerified = ({ userId }: Pick<Person, 'userId'>) =>
  service.database.crossTenantQuery(
    'check the database',
    sql`update users set verified_at = now() where id = ${decodeId('usr', userId)}::uuid`,
  )

const removeMember = async (owner: TestOwner, { userId }: Pick<Person, 'userId'>) =>
  expect((await owner.call('DELETE', `/v5/members/${userId}`)).status).toBe(204)

test('single sign-on never logs in to an account that an owner created with a link that was not mailed', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const email = `ceo@${domain}`
  const attacker = await newOwner(service)
  const created = await newMember(attacker, { email })
  await removeMember(attacker, created)
  provider.person = { sub: randomUUID(), email, email_verified: true }
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).hash).toBe('#sso-error=not-verified')
  expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
  const { body } = await fixture.organization.call('GET', '/v5/members?filter.role.equals=member')
  expect(body).toEqual([])
})

test('single sign-on never logs in to an account that another organization’s provider created', async () => {
  const first = await createSsoFixture(service, provider, { defaultRole: 'member' })
  const { domain } = await verifyDomain(first, txtRecords)
  provider.person = { sub: randomUUID(), email: `ceo@${domain}`, email_verified: true }
  const browser = new Browser()
  expect((await logInAtProvider(first, browser)).hash).toBe('#logged-in')
  const { me, call } = await readProfile(service, browser)
  expect((await call('POST', '/v5/me/password', { body: { newPassword: goodPassword } })).status).toBe(204)
  expect((await call('DELETE', `/v5/me/organizations/${me.organizations[0].id}`)).status).toBe(204)
  // The domain now belongs to another organization.
  const second = await createSsoFixture(service, provider, { defaultRole: 'member' })
  await verifyDomain(second, txtRecords, domain)
  expect((await logInAtProvider(second)).hash).toBe('#sso-error=not-verified')
})

test('a link that was not mailed creates an account or sets a password, but verifies no address', async () => {
  const owner = await newOwner(service)
  const person = await newMember(owner)
  expect(await isVerified(person)).toBe(false)
  const token = await readReset(owner, person.email)
  expect((await post('/auth/reset-password', { token, password: 'another quiet harbour' })).status).toBe(204)
  await loggedIn(service, person.email, 'another quiet harbour')
  expect(await isVerified(person)).toBe(false)
})

test('an invitation whose link was not mailed does not verify the address of the account that accepts it', async () => {
  const [owner, other] = [await newOwner(service), await newOwner(service)]
  const token = await invite(other, owner.email)
  expect((await owner.call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
  expect(await isVerified(owner)).toBe(false)
})

test('setting a password with a link from the outbox revokes the verification of the address', async () => {
  const owner = await newOwner(service)
  const person = await newMember(owner)
  await makeVerified(person)
  const token = await readReset(owner, person.email)
  expect((await post('/auth/reset-password', { token, password: 'another quiet harbour' })).status).toBe(204)
  expect(await isVerified(person)).toBe(false)
})

test('a verification link from the outbox is rejected; one for a new address changes the address without verifying it', async () => {
  const owner = await newOwner(service)
  await makeVerified(owner)
  const requestVerification = async (email: string) => {
    expect((await owner.call('POST', '/v5/me/address', { body: { email } })).status).toBe(202)
    return readLink(owner, email, 'verify-address')
  }
  const ownLink = await requestVerification(owner.email)
  const refused = await post('/auth/verify-address', { token: ownLink })
  expect(refused).toMatchObject(invalidLink)
  expect(refused.text).toContain('was not sent by mail')
  expect(await owner.call('POST', '/v5/me/address/confirm', { body: { token: ownLink } })).toMatchObject(invalidLink)
  const next = newEmail()
  const confirmed = await owner.call('POST', '/v5/me/address/confirm', {
    body: { token: await requestVerification(next) },
  })
  expect(confirmed).toMatchObject({ status: 200, body: { email: next } })
  expect(await isVerified(owner)).toBe(false)
})

type MembershipChange = (context: { owner: TestOwner; person: Person; other: TestOwner }) => Promise<unknown>

const membershipChanges: [string, MembershipChange][] = [
  [
    'joins another organization',
    async ({ person, other }) => {
      const token = await invite(other, person.email)
      expect((await person.call('POST', '/v5/me/invitations', { body: { token } })).status).toBe(200)
    },
  ],
  [
    'leaves',
    async ({ owner, person }) =>
      expect((await person.call('DELETE', `/v5/me/organizations/${owner.organizationId}`)).status).toBe(204),
  ],
  ['is removed', ({ owner, person }) => removeMember(owner, person)],
  [
    'gets another role',
    async ({ owner, person }) =>
      expect((await owner.call('PATCH', `/v5/members/${person.userId}`, { body: { role: 'viewer' } })).status).toBe(
        200,
      ),
  ],
]

test.each(membershipChanges)('a link that an owner has read is invalid once its person %s', async (_, change) => {
  const [owner, other] = [await newOwner(service), await newOwner(service)]
  const person = await newMember(owner, { role: 'admin' })
  const reset = await readReset(owner, person.email)
  await change({ owner, person, other })
  expect(await post('/auth/reset-password', { token: reset, password: 'another quiet harbour' })).toMatchObject(
    invalidLink,
  )
  expect((await logIn(service, person.email, 'another quiet harbour')).status).toBe(401)
  await loggedIn(service, person.email)
})

test('an owner’s open links become invalid when they create another organization', async () => {
  const owner = await newOwner(service)
  const token = await readReset(owner, owner.email)
  expect((await owner.call('POST', '/v5/me/organizations', { body: { name: 'Second' } })).status).toBe(201)
  expect(await post('/auth/reset-password', { token, password: 'another quiet harbour' })).toMatchObject(invalidLink)
})

test('removing a member does not revoke other people’s links, other organizations’ invitations or sent invitations', async () => {
  const [owner, other] = [await newOwner(service), await newOwner(service)]
  const [person, colleague] = [await newMember(owner, { role: 'admin' }), await newMember(owner)]
  const [reset, invitation] = [await readReset(owner, colleague.email), await invite(other, person.email)]
  const sent = await owner.call('POST', '/v5/invitations', { body: { email: newEmail(), role: 'member' } })
  const ownLink = await readReset(owner, person.email)
  // Setting the same role again changes nothing.
  const unchanged = await owner.call('PATCH', `/v5/members/${person.userId}`, { body: { role: 'admin' } })
  expect(unchanged.status).toBe(200)
  expect((await post('/auth/reset-password', { token: ownLink, password: goodPassword })).status).toBe(204)
  await removeMember(owner, person)
  expect((await post('/auth/reset-password', { token: reset, password: goodPassword })).status).toBe(204)
  const { call } = await loggedIn(service, person.email)
  expect((await call('POST', '/v5/me/invitations', { body: { token: invitation } })).status).toBe(200)
  const after = await owner.call('GET', `/v5/invitations/${sent.body.id}`)
  expect(Date.parse(after.body.expiresAt)).toBeGreaterThan(Date.now())
})

test('pending invitations of a person who joins by single sign-on are deleted and cannot be used later', async () => {
  const fixture = await createSsoFixture(service, provider, { defaultRole: 'viewer' })
  const { domain } = await verifyDomain(fixture, txtRecords)
  const email = `grace@${domain}`
  const { call } = fixture.organization
  expect((await call('POST', '/v5/invitations', { body: { email, role: 'admin' } })).status).toBe(201)
  const otherOwner = await newOwner(service)
  await invite(otherOwner, email)
  const token = await handedOverToken(service, fixture.organization.organizationId, email)
  provider.person = { sub: randomUUID(), email, email_verified: true }
  const browser = new Browser()
  expect((await logInAtProvider(fixture, browser)).hash).toBe('#logged-in')
  const { me, call: ownLink } = await readProfile(service, browser)
  expect((await call('GET', '/v5/invitations')).body).toEqual([])
  expect((await otherOwner.call('GET', '/v5/invitations')).body).toHaveLength(1)
  expect((await call('DELETE', `/v5/members/${me.id}`)).status).toBe(204)
  expect(await ownLink('POST', '/v5/me/invitations', { body: { token } })).toMatchObject(invalidLink)
})

test('invitations sent by a member who loses the permission expire in that organization and stay expired', async () => {
  const [owner, other] = [await newOwner(service), await newOwner(service)]
  const admin = await newMember(owner, { role: 'admin' })
  const [ownEmail, otherEmail] = [newEmail(), newEmail()]
  const setRole = (role: string) => owner.call('PATCH', `/v5/members/${admin.userId}`, { body: { role } })
  expect((await admin.call('POST', '/v5/invitations', { body: { email: ownEmail, role: 'viewer' } })).status).toBe(201)
  const token = await handedOverToken(service, owner.organizationId, ownEmail)
  const invitation = await invite(other, admin.email, 'admin')
  expect((await admin.call('POST', '/v5/me/invitations', { body: { token: invitation } })).status).toBe(200)
  const inOther = { headers: { 'service-organization-id': other.organizationId } }
  const body = { email: otherEmail, role: 'viewer' }
  expect((await admin.call('POST', '/v5/invitations', { body, ...inOther })).status).toBe(201)
  expect((await post('/auth/invitations/preview', { token })).status).toBe(200)
  expect((await setRole('owner')).status).toBe(200)
  expect((await post('/auth/invitations/preview', { token })).status).toBe(200)
  for (const role of ['member', 'admin']) expect((await setRole(role)).status).toBe(200)
  expect(await post('/auth/invitations/preview', { token })).toMatchObject(invalidLink)
  const otherOwner = await handedOverToken(service, other.organizationId, otherEmail)
  expect((await post('/auth/invitations/preview', { token: otherOwner })).status).toBe(200)
})

test('an invitation that was not mailed does not reveal whether the address has an account', async () => {
  const owner = await newOwner(service)
  const known = await newOwner(service)
  const results = []
  for (const email of [newEmail(), known.email]) {
    const token = await invite(owner, email)
    const weak = { token, name: 'Grace', password: 'password1234' }
    const [preview, accept] = [
      await post('/auth/invitations/preview', { token }),
      await post('/auth/invitations/accept', weak),
    ]
    expect(preview.status).toBe(200)
    results.push([Object.keys(preview.body), accept.status, accept.body])
  }
  expect(results[1]).toEqual(results[0])
})

test('with SIGN_UP=closed an invitation is rejected the same way, whether or not the address has an account', async () => {
  const closed = await startTestService({ SIGN_UP: 'closed' })
  try {
    const [owner, known] = [await newOwner(closed), await newOwner(closed)]
    for (const email of [newEmail(), known.email]) {
      expect((await owner.call('POST', '/v5/invitations', { body: { email, role: 'member' } })).status).toBe(201)
      const storedMails = async () => (await owner.call('GET', `/v5/mails?filter.recipient.equals=${email}`)).body
      await until('the mail is kept', async () => (await storedMails())[0]?.status === 'kept')
      const { body } = await owner.call('GET', `/v5/mails/${(await storedMails())[0].id}/content`)
      const accept = { token: tokenInLink(body.links[0]), name: 'Grace', password: goodPassword }
      const refused = await closed.anonymous('POST', '/auth/invitations/accept', { body: accept })
      expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_permissions' } })
    }
  } finally {
    await closed.close()
  }
})
