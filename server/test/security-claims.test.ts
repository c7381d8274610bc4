import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routes } from '../src/app.ts'
import { sql } from '../src/platform/model/sql.ts'
import type { Route } from '../src/platform/http/route.ts'
import { createTransport } from '../src/identity/mails/transport.ts'
import { sender, smtpServer } from '../src/identity/mails/settings.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { startMailReceiver } from './mail-receiver.ts'
import { callAs, loggedIn, newEmail, newOwner } from './people.ts'
import { startTestService, type TestService } from './service.ts'
import type { Schema } from '../src/platform/model/json.ts'

// Claims of docs/security.md that no other test checks.

let service: TestService
let behindProxy: TestService
beforeAll(async () => {
  ;[service, behindProxy] = await Promise.all([startTestService(), startTestService({ TRUST_PROXY: '1' })])
})
afterAll(() => Promise.all([service.close(), behindProxy.close()]))

const security = readFileSync(fileURLToPath(new URL('../../docs/security.md', import.meta.url)), 'utf8')
const section = (heading: string): string =>
  new RegExp(`^## ${heading}\n(.*?)^## `, 'ms').exec(security)?.[1]?.replaceAll(/\s+/g, ' ') ?? ''

/** CR and LF, alone and together, before an SMTP command or a header. */
const injected = ['\r\nRCPT TO:<evil@example.com>\r\nDATA', '\nBcc: evil@example.com', '\rBcc: evil@example.com\r\r<b>']

test('no address or subject can inject another recipient, header or mail', async () => {
  const receiver = await startMailReceiver()
  try {
    const transport = createTransport(smtpServer(receiver.url), sender('Rapport <crm@example.com>'))
    const mail = {
      reference: randomUUID(),
      recipient: 'ada@example.com',
      subject: 'Hello',
      language: 'en' as const,
      text: 'T',
      html: '<p>T</p>',
    }
    for (const text of injected) {
      for (const recipient of [`ada@example.com${text}`, `ada${text}@example.com`, `a@example.com>${text}`]) {
        await expect(transport.send({ ...mail, recipient }), recipient).rejects.toThrow('the address is invalid')
      }
      await transport.send({ ...mail, subject: `Hello${text}`, text: `T${text}\r\n.\r\nMAIL FROM:<evil@example.com>` })
      const { to, from, headers, subject } = await receiver.next()
      expect([to, from, headers.get('bcc'), headers.get('to')]).toEqual([
        ['ada@example.com'],
        'crm@example.com',
        undefined,
        'ada@example.com',
      ])
      expect(subject).toMatch(/^Hello/)
      expect(receiver.mails().flatMap((schemaPart) => schemaPart.to)).not.toContain('evil@example.com')
    }
    expect(receiver.mails()).toHaveLength(injected.length)
  } finally {
    await receiver.close()
  }
})

test('an address with line breaks is rejected by every route that accepts one', async () => {
  const { call } = await newOwner(service)
  for (const text of injected) {
    const email = `ada@example.com${text}`
    const role = 'member'
    expect((await call('POST', '/v5/invitations', { body: { email, role } })).status, email).toBe(422)
    expect((await call('POST', '/v5/me/address', { body: { email } })).status, email).toBe(422)
    expect((await service.anonymous('POST', '/auth/forgot-password', { body: { email } })).status, email).toBe(422)
  }
})

test('sessions live as long as the document says, and it explains why they exceed the NIST limits', async () => {
  const documented = section('Sessions')
  const [, idleDays, maxDays] =
    /ends (\d+) days after its last refresh and (\d+) days after its login/.exec(documented) ?? []
  const owner = await newOwner(service)
  const { sessionId, refreshToken } = await loggedIn(service, owner.email, owner.password)
  const id = decodeId('session', sessionId)
  const days = async () => {
    const [row] = await service.database.crossTenantQuery<{ days: number }>(
      'check the database',
      sql`select round(extract(epoch from expires_at - now()) / 86400)::integer as days from sessions where id = ${id}::uuid`,
    )
    return row?.days
  }
  expect(await days()).toBe(Number(idleDays))
  await service.database.crossTenantQuery(
    'check the database',
    sql`update sessions set created_at = now() - make_interval(days => ${Number(maxDays) - 10}) where id = ${id}::uuid`,
  )
  expect((await service.anonymous('POST', '/auth', { body: { token: refreshToken } })).status).toBe(200)
  expect(await days()).toBe(10)
  expect(documented).toMatch(/NIST SP 800-63B asks for .*We go beyond that because /)
})

test('a token still belongs to its person after somebody else takes over their address', async () => {
  const [first, second] = [await newOwner(service), await newOwner(service)]
  const setEmail = (userId: string, email: string) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`update users set email = ${email}, email_key = ${email} where id = ${decodeId('usr', userId)}::uuid`,
    )
  await setEmail(first.userId, newEmail())
  await setEmail(second.userId, first.email)
  const meOf = async (accessToken: string) => (await callAs(service, accessToken)('GET', '/v5/me')).body
  expect((await meOf(first.accessToken)).id).toBe(first.userId)
  expect(await meOf(second.accessToken)).toMatchObject({ id: second.userId, email: first.email })
  // Ids contain the time and random bits, so that no id is reused.
  const { id } = await meOf((await newOwner(service)).accessToken)
  expect([first.userId, second.userId]).not.toContain(id)
})

const publicRoutes: readonly Route[] = routes

test('no address returns a directory listing: it is a route or it is not found', async () => {
  const parents = publicRoutes
    .filter(({ method }) => method === 'GET')
    .flatMap(({ path }) => path.split('/').map((_, index, parts) => parts.slice(0, index).join('/')))
  const others = [
    '/server',
    '/server/src',
    '/node_modules',
    '/.git',
    '/docs',
    '/docs/guides',
    '/docs/decisions',
    '/v5/swagger/..',
    '/account/.',
    '/data',
  ]
  // The index of the guides is a page of titles.
  const routed = new Set(['/docs', ...publicRoutes.map(({ path }) => path)])
  const unexpected: string[] = []
  for (const folder of new Set([...parents, ...others])) {
    const path = folder.replaceAll(/\{\w+\}/g, 'none')
    for (const address of [`${path}/`, path || '/']) {
      const answer = await service.anonymous('GET', address)
      expect(answer.text, address).not.toMatch(/index of|directory listing|parent directory/i)
      // The path as it is sent: fetch resolves dots, and a trailing slash is ignored.
      const requestedPath = new URL(address, service.url).pathname.replace(/(.)\/$/, '$1')
      if (answer.status === 200 && !routed.has(requestedPath)) unexpected.push(address)
    }
  }
  expect(unexpected).toEqual([])
})

/** The schemas with properties that allow additional ones. */
function findOpenSchemas(schema: Schema, path: string): string[] {
  const { properties, additionalProperties, items, oneOf, anyOf, allOf } = schema as Record<string, never>
  const inner = [
    ...Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, schemaPart]) => [
      schemaPart,
      `${path}.${name}`,
    ]),
    ...(items === undefined ? [] : [[items, `${path}[]`]]),
    ...[oneOf, anyOf, allOf].flatMap((list) => ((list ?? []) as Schema[]).map((schemaPart) => [schemaPart, path])),
  ] as [Schema, string][]
  const isOpen = properties !== undefined && additionalProperties !== false
  return [
    ...(isOpen ? [path] : []),
    ...inner.flatMap(([schemaPart, innerPath]) => findOpenSchemas(schemaPart, innerPath)),
  ]
}

test('every response schema allows only its listed properties, except schemas that other standards define', () => {
  const open = publicRoutes.flatMap((route) =>
    Object.values(route.responses).flatMap((answer) =>
      answer.kind === 'schema' ? findOpenSchemas(answer.schema, answer.component) : [],
    ),
  )
  // Other standards define the OpenAPI document, public keys (RFC 7517) and WebAuthn options.
  const others = /^(?:Description|KeySet|Passkey\w+Options)(?:[.[]|$)/
  expect([...new Set(open)].filter((path) => !others.test(path))).toEqual([])
})

test('the table of ways to log in lists exactly the routes that create a session', () => {
  const givesSession = (route: Route) =>
    Object.values(route.responses).some(
      (answer) => answer.kind === 'schema' && JSON.stringify(answer.schema).includes('"accessToken"'),
    )
  const [sessionRoutes, ssoRoutes] = [
    publicRoutes.filter(givesSession),
    publicRoutes.filter(({ path }) => path.startsWith('/auth/sso/')),
  ]
  const documented = section('Ways in')
  const documentedPaths = [
    ...documented.matchAll(/`(?:POST |GET )?(\/(?:auth|v5\/me\/reauthenticate)[\w/{}-]*)`/g),
  ].map(([, path = '']) => path)
  // The document lists the second step of a login with the first, and the callback of a provider with its start.
  const documentedPath = (path: string) =>
    path.replace(/^\/auth\/login\/.*/, '/auth/login').replace(/^\/auth\/sso\/.*/, '/auth/sso/{id}')
  const actual = [...sessionRoutes, ...ssoRoutes].map(({ path }) => documentedPath(path))
  expect(new Set(actual)).toEqual(new Set(documentedPaths))
})

test('behind a proxy, sessions, events, logs and key restrictions all use the address that the proxy saw', async () => {
  const organization = await behindProxy.newOrganization()
  const { email } = (await callAs(behindProxy, organization.accessToken)('GET', '/v5/me')).body
  const forwardedHeaders = { 'x-forwarded-for': '203.0.113.9, 10.0.0.1, 192.0.2.77' }
  const body = { email, password: 'a password that is long enough' }
  const login = await behindProxy.anonymous('POST', '/auth/login', { body, headers: forwardedHeaders })
  const call = callAs(behindProxy, login.body.accessToken, forwardedHeaders)
  const sessions = (await call('GET', '/v5/me/sessions')).body as { id: string; address: string }[]
  expect(sessions.find(({ id }) => id === login.body.sessionId)?.address).toBe('192.0.2.77')
  const [event] = (await call('GET', '/v5/audit-log?filter.action.equals=login.succeeded&limit=1')).body
  expect(event.address).toBe('192.0.2.77')
  const logEntry = behindProxy.logged
    .map((text) => JSON.parse(text))
    .find(({ requestId }) => requestId === login.headers.get('x-request-id'))
  expect(logEntry.address).toBe('192.0.2.77')
  const key = await call('POST', '/v5/api-keys', {
    body: { name: 'Near', scopes: ['urn:service:contact:list:read'], allowedAddresses: ['203.0.113.9', '10.0.0.1'] },
  })
  expect(key.status, key.text).toBe(201)
  const asKey = callAs(behindProxy, key.body.apiKey, {
    'service-organization-id': organization.organizationId,
    ...forwardedHeaders,
  })
  expect((await asKey('GET', '/v5/contacts')).status).toBe(403)
  // Denials are recorded after their response.
  const attempts = async () => (await call('GET', '/v5/audit-log?filter.action.equals=access.denied')).body
  await expect.poll(attempts).toMatchObject([{ address: '192.0.2.77' }])
})
