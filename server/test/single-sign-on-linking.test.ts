import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import { readId } from '../src/platform/model/ids.ts'
import type { SsoError } from '../src/identity/single-sign-on/flow.ts'
import { Browser } from './browser.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { afterProof, type TestPerson } from './people.ts'
import { startTestService, type TestService } from './service.ts'
import {
  confirm,
  goLink,
  goThrough,
  link,
  logInMember,
  type Member,
  newMember,
  newSsoWorld,
  password,
  proveDomain,
  whoIs,
  startWithProviders,
} from './single-sign-on-world.ts'

let service: TestService
let provider: IdentityProvider
let other: IdentityProvider
let close: () => Promise<unknown>
const texts = new Map<string, string[]>()
beforeAll(async () => {
  ;({ started: service, provider, other, close } = await startWithProviders(startTestService, texts))
})
afterAll(() => close())

const run = <Row extends object>(statement: Sql): Promise<Row[]> =>
  service.database.crossTenantQuery<Row>('check the database', statement)

const uuid = (prefix: string, id: string): string => readId(prefix, id) ?? ''

const newPerson = (organizationIds: readonly string[], options?: { email?: string; isVerified?: boolean }) =>
  newMember(service, organizationIds, options)

const logIn = (member: Member): Promise<TestPerson> => logInMember(service, member)

const failed = (code: SsoError) => `#sso-error=${code}`

async function accountsOf(email: string): Promise<number> {
  return (await run(sql`select from users where email_key = ${email.toLowerCase()}`)).length
}

test.each([
  ['the provider does not vouch for the address', { email_verified: false }],
  ['the provider says nothing of it', { email_verified: undefined }],
  ['the provider says so in a word', { email_verified: 'true' }],
  ['there is no address', { email: undefined }],
  ['the address is none', { email: 'ada' }],
  ['the domain only ends alike', { suffix: '.evil.example' }],
  ['it is below the domain', { prefix: 'sub.' }],
  ['the domain stands in the local part', { prefix: 'x@evil.' }],
])('nobody joins when %s', async (_, change: Record<string, unknown>) => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  const { prefix = '', suffix = '', ...claims } = change
  const email = `${randomUUID()}@${prefix}${domain}${suffix}`
  provider.person = { sub: randomUUID(), email, email_verified: true, ...claims }
  expect((await goThrough(world)).hash).toBe(failed('not-linked'))
  expect(await accountsOf(email)).toBe(0)
  const { body } = await world.organization.call('GET', '/v5/audit-log?filter.action.equals=login.failed')
  expect(body).toMatchObject([{ actorKind: 'anonymous', details: { by: 'single-sign-on', reason: 'not-linked' } }])
})

test('nobody joins by a domain that is claimed and not proved, that is given up, or that another organization has proved', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const [claimed, givenUp] = [`${randomUUID()}.example`, await proveDomain(world, texts)]
  await world.organization.call('POST', '/v5/domains', { body: { domain: claimed } })
  await world.organization.call('DELETE', `/v5/domains/${givenUp.id}`)
  const foreign = await proveDomain({ organization: await service.newOrganization() }, texts)
  for (const domain of [claimed, givenUp.domain, foreign.domain]) {
    provider.person = { sub: randomUUID(), email: `a@${domain}`, email_verified: true }
    expect((await goThrough(world)).hash).toBe(failed('not-linked'))
  }
})

test('nobody joins by themself unless the connection says as what, nor where accounts are closed', async () => {
  const world = await newSsoWorld(service, provider)
  const { domain } = await proveDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `a@${domain}`, email_verified: true }
  expect((await goThrough(world)).hash).toBe(failed('not-linked'))
  const owner = await world.organization.call('PATCH', `/v5/sso-connections/${world.connectionId}`, {
    body: { defaultRole: 'owner' },
  })
  expect(owner.status).toBe(422)
  const closed = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host, SIGN_UP: 'closed' })
  const there = await newSsoWorld(closed, provider, { defaultRole: 'member' })
  const proved = await proveDomain(there, texts)
  provider.person = { sub: randomUUID(), email: `a@${proved.domain}`, email_verified: true }
  expect((await goThrough(there)).hash).toBe(failed('not-linked'))
  await closed.close()
})

test('an account is never taken over by its address', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const { organizationId } = world.organization
  const { domain } = await proveDomain(world, texts)
  const elsewhere = await service.newOrganization()
  const address = () => `${randomUUID()}@${domain}`
  const cases: [string, Member, SsoError][] = [
    ['of another domain', await newPerson([organizationId]), 'not-linked'],
    ['in another organization', await newPerson([elsewhere.organizationId], { email: address() }), 'not-linked'],
    [
      'in another organization too',
      await newPerson([organizationId, elsewhere.organizationId], { email: address() }),
      'not-linked',
    ],
    [
      'with an address that was not verified by mail',
      await newPerson([organizationId], { email: address(), isVerified: false }),
      'not-verified',
    ],
  ]
  for (const [told, { email, userId }, reason] of cases) {
    provider.person = { sub: randomUUID(), email: email.toUpperCase(), email_verified: true }
    const browser = new Browser()
    expect([told, (await goThrough(world, browser)).hash]).toEqual([told, failed(reason)])
    expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
    expect(await run(sql`select from sso_identities where user_id = ${uuid('usr', userId)}::uuid`)).toEqual([])
  }
})

test('an account that is nobody else’s and whose domain is proved is joined, with the role that it has', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'viewer' })
  const { domain } = await proveDomain(world, texts)
  const person = await newPerson([world.organization.organizationId], { email: `${randomUUID()}@${domain}` })
  const alone = await newPerson([], { email: `${randomUUID()}@${domain}` })
  for (const [{ email, userId }, role] of [
    [person, 'member'],
    [alone, 'viewer'],
  ] as const) {
    provider.person = { sub: randomUUID(), email, email_verified: true }
    const browser = new Browser()
    expect((await goThrough(world, browser)).hash).toBe('#logged-in')
    expect((await whoIs(service, browser)).me).toMatchObject({ id: userId, organizations: [{ role }] })
  }
})

test('somebody who comes for the first time twice at once is one person', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  const email = `${randomUUID()}@${domain}`
  provider.person = { sub: randomUUID(), email, email_verified: true }
  const ends = await Promise.all(Array.from({ length: 6 }, () => goThrough(world, new Browser())))
  expect(ends.map(({ hash }) => hash)).toEqual(ends.map(() => '#logged-in'))
  expect(await accountsOf(email)).toBe(1)
})

test('a person who is logged in links an identity, whatever its address, and logs in with it', async () => {
  const world = await newSsoWorld(service, provider)
  const member = await newPerson([world.organization.organizationId])
  const person = await logIn(member)
  const sub = randomUUID()
  provider.person = { sub, email: 'somebody@elsewhere.example' }
  expect((await goThrough(world)).hash).toBe(failed('not-linked'))
  const id = await link(world, person)
  const { body } = await person.call('GET', '/v5/me/identities')
  expect(body).toEqual([
    expect.objectContaining({
      id,
      organizationId: world.organization.organizationId,
      connectionId: world.connectionId,
      connectionName: 'Ours',
      issuer: provider.issuer,
      subject: sub,
      email: 'somebody@elsewhere.example',
      lastUsedAt: null,
    }),
  ])
  const browser = new Browser()
  expect((await goThrough(world, browser)).hash).toBe('#logged-in')
  expect((await whoIs(service, browser)).me).toMatchObject({ id: member.userId, email: member.email })
  const log = await world.organization.call('GET', '/v5/audit-log?filter.action.equals=identity.linked')
  expect(log.body).toMatchObject([{ actorId: member.userId, recordId: id }])
  const mails = await run(
    sql`select from mails where user_id = ${uuid('usr', member.userId)}::uuid and kind = 'account-changed'`,
  )
  expect(mails).toHaveLength(1)
})

test('linking ends with whoever began it: nobody’s identity lands at another one’s account', async () => {
  const world = await newSsoWorld(service, provider)
  const { organizationId } = world.organization
  const [attacker, victim] = [
    await logIn(await newPerson([organizationId])),
    await logIn(await newPerson([organizationId])),
  ]
  provider.person = { sub: randomUUID() }
  // The victim was brought to the attacker's link, or the attacker brings their proof to the victim's page.
  const token = await goLink(world, attacker)
  expect((await confirm(victim, token)).status).toBe(422)
  expect((await confirm(attacker, token)).status).toBe(422)
  expect((await victim.call('GET', '/v5/me/identities')).body).toEqual([])
  expect((await goThrough(world)).hash).toBe(failed('not-linked'))
})

test('a link is good once, for its own connection, and not for a session that has not proved itself', async () => {
  const world = await newSsoWorld(service, provider)
  const second = await newSsoWorld(service, provider)
  const person = await logIn(await newPerson([world.organization.organizationId]))
  const ask = (connectionId: string) => person.call('POST', '/v5/me/identities', { body: { connectionId } })
  expect((await ask(second.connectionId)).status).toBe(422)
  expect((await ask('sso_nothing')).status).toBe(422)
  const { url } = (await ask(world.connectionId)).body
  provider.person = { sub: randomUUID() }
  expect((await goThrough({ ...world, start: url })).hash).toMatch(/^#sso-link=/)
  expect((await goThrough({ ...world, start: url })).hash).toBe(failed('expired'))
  const moved = (await ask(world.connectionId)).body.url.replace(world.connectionId, second.connectionId)
  expect((await goThrough({ ...second, start: moved })).hash).toBe(failed('expired'))
  expect(
    (await world.organization.call('POST', '/v5/me/identities', { body: { connectionId: world.connectionId } })).status,
  ).toBe(403)
  await run(
    sql`update sessions set proved_at = now() - interval '6 minutes' where id = ${uuid('session', person.sessionId)}::uuid`,
  )
  expect(await ask(world.connectionId)).toMatchObject({ status: 403, body: { code: 'reauthentication_required' } })
})

test('an identity is one person’s, and the same subject at another issuer or organization another one', async () => {
  const world = await newSsoWorld(service, provider)
  const { organizationId } = world.organization
  const [first, second] = [
    await logIn(await newPerson([organizationId])),
    await logIn(await newPerson([organizationId])),
  ]
  const sub = randomUUID()
  provider.person = { sub }
  await link(world, first)
  expect((await confirm(second, await goLink(world, second))).status).toBe(409)
  const elsewhere = await newSsoWorld(service, provider)
  expect((await goThrough(elsewhere)).hash).toBe(failed('not-linked'))
  other.person = { sub }
  const { issuer, clientId, clientSecret } = other
  const made = await world.organization.call('POST', '/v5/sso-connections', {
    body: { name: 'Other', issuer, clientId, clientSecret },
  })
  other.register(`${service.url}/auth/sso/callback/${made.body.id}`)
  const there = {
    ...world,
    provider: other,
    connectionId: made.body.id,
    start: `${service.url}/auth/sso/${made.body.id}`,
  }
  expect((await goThrough(there)).hash).toBe(failed('not-linked'))
})

test('the provider stands for the password: a second factor is asked for all the same', async () => {
  const world = await newSsoWorld(service, provider)
  const member = await newPerson([world.organization.organizationId])
  provider.person = { sub: randomUUID() }
  await link(world, await logIn(member))
  await run(sql`update users set second_factors = '{totp}' where id = ${uuid('usr', member.userId)}::uuid`)
  const browser = new Browser()
  expect((await goThrough(world, browser)).hash).toMatch(/^#second-factor=pnd_[\w-]{43}$/)
  expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
})

test('one organization’s provider does not open another organization', async () => {
  const world = await newSsoWorld(service, provider)
  const elsewhere = await service.newOrganization()
  const member = await newPerson([world.organization.organizationId, elsewhere.organizationId])
  provider.person = { sub: randomUUID() }
  await link(world, await logIn(member))
  const browser = new Browser()
  expect((await goThrough(world, browser)).hash).toBe(failed('second-factor-needed'))
  expect(browser.cookie(new URL(service.url).host, 'rapport')).toBeUndefined()
  await run(sql`update users set second_factors = '{totp}' where id = ${uuid('usr', member.userId)}::uuid`)
  expect((await goThrough(world, new Browser())).hash).toMatch(/^#second-factor=/)
})

test('a log-in at the provider proves nobody who has a password: what lasts takes that', async () => {
  const world = await newSsoWorld(service, provider)
  const member = await newPerson([world.organization.organizationId])
  provider.person = { sub: randomUUID() }
  await link(world, await logIn(member))
  const browser = new Browser()
  await goThrough(world, browser)
  const { call } = await whoIs(service, browser)
  const lasting = [
    ['POST', '/v5/me/totp'],
    ['POST', '/v5/me/passkeys/options'],
    ['POST', '/v5/me/address', { email: 'evil@example.com' }],
    ['POST', '/v5/me/identities', { connectionId: world.connectionId }],
  ] as const
  for (const [method, path, body] of lasting) {
    const { status, body: answer } = await call(method, path, { ...(body && { body }) })
    expect([path, status, answer.code]).toEqual([path, 403, 'reauthentication_required'])
  }
  expect((await call('POST', '/v5/me/password', { body: { newPassword: 'violet engine tandem' } })).status).toBe(422)
  expect((await call('GET', '/v5/contacts')).status).toBe(200)
  expect((await call('POST', '/v5/me/reauthenticate', { body: { password: 'not the one that it is' } })).status).toBe(
    422,
  )
  const proved = afterProof(service, await call('POST', '/v5/me/reauthenticate', { body: { password } }))
  expect((await proved('POST', '/v5/me/totp')).status).toBe(200)
})

test('whoever has nothing but the provider proves themself there, until they have a password', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const { domain } = await proveDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true }
  const [first, second] = [new Browser(), new Browser()]
  await goThrough(world, first)
  const { call } = await whoIs(service, first)
  expect((await call('POST', '/v5/me/totp')).status).toBe(200)
  expect((await call('POST', '/v5/me/password', { body: { newPassword: password } })).status).toBe(204)
  await goThrough(world, second)
  expect(await (await whoIs(service, second)).call('POST', '/v5/me/totp')).toMatchObject({
    status: 403,
    body: { code: 'reauthentication_required' },
  })
})

test('an identity that is unlinked opens nothing, and the only way in cannot be unlinked', async () => {
  const world = await newSsoWorld(service, provider, { defaultRole: 'member' })
  const member = await newPerson([world.organization.organizationId])
  const person = await logIn(member)
  provider.person = { sub: randomUUID() }
  const id = await link(world, person)
  const stranger = await logIn(await newPerson([world.organization.organizationId]))
  expect((await stranger.call('DELETE', `/v5/me/identities/${id}`)).status).toBe(404)
  expect((await person.call('DELETE', `/v5/me/identities/${id}`)).status).toBe(204)
  expect((await goThrough(world)).hash).toBe(failed('not-linked'))
  const { domain } = await proveDomain(world, texts)
  provider.person = { sub: randomUUID(), email: `${randomUUID()}@${domain}`, email_verified: true }
  const browser = new Browser()
  await goThrough(world, browser)
  const { call } = await whoIs(service, browser)
  const [only] = (await call('GET', '/v5/me/identities')).body
  expect((await call('DELETE', `/v5/me/identities/${only.id}`)).status).toBe(423)
  expect((await call('GET', '/v5/me/identities')).body).toHaveLength(1)
})
