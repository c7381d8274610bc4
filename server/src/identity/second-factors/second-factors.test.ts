import fc from 'fast-check'
import { Secret } from 'otpauth'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeEncryptedData } from '../../cli/encrypted-columns.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { hashRecoveryCode, generateRecoveryCodes } from './recovery-codes.ts'
import {
  AuthenticatorApp,
  beginLogins,
  completeByRecoveryCode,
  completeByTotp,
  confirmApp,
  enrolApp,
  eventsOf,
  mailsOf,
  newPerson,
} from '../../../test/second-factors.ts'
import { callAfterReauthentication, backdateReauthentication, callAs, untilServed } from '../../../test/people.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const execute = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)

test('an authenticator app is required at login after a first code has confirmed it', async () => {
  const person = await newPerson(service)
  expect((await person.logIn()).body.status).toBe('complete')
  const begun = await person.call('POST', '/v5/me/totp')
  expect(begun.status).toBe(200)
  expect(begun.body.secret).toMatch(/^[A-Z2-7]{32}$/)
  const uri = new URL(begun.body.uri)
  expect([uri.protocol, uri.host, uri.searchParams.get('issuer')]).toEqual(['otpauth:', 'totp', 'Rapport'])
  expect(decodeURIComponent(uri.pathname)).toBe(`/Rapport:${person.email}`)
  expect((await person.logIn()).body.status).toBe('complete')

  const app = new AuthenticatorApp(begun.body.uri)
  const wrong = await person.call('POST', '/v5/me/totp/confirm', { body: { code: app.wrongCode() } })
  expect(expectRefusal(wrong, 422, 'invalid_field_value').details).toMatchObject([{ field: 'code' }])
  const confirmed = await confirmApp(person, app)
  expect(confirmed.body.recoveryCodes).toHaveLength(10)
  expect(await mailsOf(service, person)).toEqual(['second-factor-added'])
  expect(await eventsOf(service, person, 'factor.added')).toMatchObject([{ kind: 'user', details: { factor: 'totp' } }])

  const step = await person.logIn()
  expect(step.body).toMatchObject({
    status: 'second_factor_required',
    factors: expect.arrayContaining(['totp', 'recovery-code']),
  })
  expect(Object.keys(step.body).sort()).toEqual(['factors', 'pendingToken', 'status'])
  const done = await completeByTotp(service, step.body.pendingToken, app.code())
  expect(done.body).toMatchObject({ status: 'complete', userId: person.organization.userId })
  expect((await callAs(service, done.body.accessToken)('GET', '/v5/me')).status).toBe(200)
  expect((await service.anonymous('POST', '/auth', { body: { token: done.body.refreshToken } })).status).toBe(200)
  // The pending token is valid once.
  expectRefusal(await completeByTotp(service, step.body.pendingToken, app.code(1)), 401, 'invalid_credentials')
})

test('the app’s secret is returned once, and is not replaced while the app is in use', async () => {
  const person = await newPerson(service)
  const first = await person.call('POST', '/v5/me/totp')
  const second = await person.call('POST', '/v5/me/totp')
  expect(second.body.secret).not.toBe(first.body.secret)
  const stale = await person.call('POST', '/v5/me/totp/confirm', {
    body: { code: new AuthenticatorApp(first.body.uri).code() },
  })
  expectRefusal(stale, 422, 'invalid_field_value')
  const app = new AuthenticatorApp(second.body.uri)
  expect((await confirmApp(person, app)).status).toBe(200)
  expectRefusal(await person.call('POST', '/v5/me/totp'), 423, 'resource_locked')
  expectRefusal(await person.call('POST', '/v5/me/totp/confirm', { body: { code: app.code() } }), 422)
  const factors = await person.call('GET', '/v5/me/second-factors')
  expect(factors.body).toEqual({
    totp: { createdAt: expect.any(String), lastUsedAt: expect.any(String) },
    passkeys: [],
    recoveryCodes: { remaining: 10 },
  })
  expect(factors.text).not.toContain(second.body.secret)
})

test('of concurrent confirmations one succeeds and returns the only valid recovery codes', async () => {
  const person = await newPerson(service)
  const app = new AuthenticatorApp((await person.call('POST', '/v5/me/totp')).body.uri)
  const responses = await Promise.all(Array.from({ length: 8 }, () => confirmApp(person, app)))
  const accepted = responses.filter(({ status }) => status === 200)
  expect(accepted).toHaveLength(1)
  const [pending = ''] = await beginLogins(service, person, 1)
  expect((await completeByRecoveryCode(service, pending, accepted[0]?.body.recoveryCodes[0])).status).toBe(200)
  expect(await mailsOf(service, person)).toEqual(['second-factor-added'])
})

test('a used code and every earlier code are rejected', async () => {
  const person = await newPerson(service)
  const { app, code: confirmedWith } = await enrolApp(person)
  const [one = '', two = '', three = ''] = await beginLogins(service, person, 3)
  const codes = [-1, 0, 1].map((steps) => app.code(steps))
  const [, code = ''] = codes
  // The code that confirmed the app is already used.
  expectRefusal(await completeByTotp(service, one, confirmedWith), 401, 'invalid_credentials')
  expect((await completeByTotp(service, one, code)).status).toBe(200)
  expectRefusal(await completeByTotp(service, two, code), 401, 'invalid_credentials')
  expect((await completeByTotp(service, two, codes[2] ?? '')).status).toBe(200)
  for (const used of codes) expectRefusal(await completeByTotp(service, three, used), 401, 'invalid_credentials')
})

test('a code three steps early or late is rejected', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const [pending = ''] = await beginLogins(service, person, 1)
  expectRefusal(await completeByTotp(service, pending, app.code(-3)), 401, 'invalid_credentials')
  expectRefusal(await completeByTotp(service, pending, app.code(3)), 401, 'invalid_credentials')
})

test('of fifty concurrent logins with one code, one succeeds', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const pending = await beginLogins(service, person, 50)
  const code = app.code()
  const responses = await Promise.all(pending.map((token) => untilServed(() => completeByTotp(service, token, code))))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
  // The others are rejected or rate-limited; none occupies a connection while it waits.
  expect(responses.filter(({ status }) => ![200, 401, 429].includes(status)).map(({ text }) => text)).toEqual([])
})

test('of fifty concurrent requests with one pending login and one code, one succeeds', async () => {
  const person = await newPerson(service)
  const { app, recoveryCodes } = await enrolApp(person)
  const [one = '', two = ''] = await beginLogins(service, person, 2)
  const code = app.code()
  const byCode = await Promise.all(
    Array.from({ length: 50 }, () => untilServed(() => completeByTotp(service, one, code))),
  )
  expect(byCode.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
  const byRecovery = await Promise.all(
    Array.from({ length: 50 }, () => untilServed(() => completeByRecoveryCode(service, two, recoveryCodes[0] ?? ''))),
  )
  expect(byRecovery.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
})

test('of fifty concurrent logins with one recovery code, one succeeds', async () => {
  const person = await newPerson(service)
  const { recoveryCodes } = await enrolApp(person)
  const pending = await beginLogins(service, person, 50)
  const responses = await Promise.all(
    pending.map((token) => untilServed(() => completeByRecoveryCode(service, token, recoveryCodes[0] ?? ''))),
  )
  expect(responses.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1)
  expect((await person.call('GET', '/v5/me/second-factors')).body.recoveryCodes).toEqual({ remaining: 9 })
})

test('a recovery code replaces the app once, in any spelling', async () => {
  const person = await newPerson(service)
  const { recoveryCodes } = await enrolApp(person)
  const [first = '', second = ''] = recoveryCodes
  const [one = '', two = '', three = ''] = await beginLogins(service, person, 3)
  expect((await completeByRecoveryCode(service, one, first)).body.status).toBe('complete')
  expectRefusal(await completeByRecoveryCode(service, two, first), 401, 'invalid_credentials')
  const typed = ` ${second.toUpperCase().replaceAll('-', ' ').replaceAll('0', 'O').replaceAll('1', 'l')} `
  expect((await completeByRecoveryCode(service, two, typed)).body.status).toBe('complete')
  expect((await person.call('GET', '/v5/me/second-factors')).body.recoveryCodes).toEqual({ remaining: 8 })
  expect(await eventsOf(service, person, 'recovery-code.used')).toHaveLength(2)
  // Another person's code is invalid.
  const other = await newPerson(service)
  const otherEnrolment = (await enrolApp(other)).recoveryCodes
  expectRefusal(await completeByRecoveryCode(service, three, otherEnrolment[0] ?? ''), 401, 'invalid_credentials')
})

test('new recovery codes replace the old ones and require a second factor', async () => {
  const person = await newPerson(service)
  expectRefusal(await person.call('POST', '/v5/me/recovery-codes'), 423, 'resource_locked')
  const { recoveryCodes } = await enrolApp(person)
  const created = await person.call('POST', '/v5/me/recovery-codes')
  expect(created.body.recoveryCodes).toHaveLength(10)
  const [one = '', two = ''] = await beginLogins(service, person, 2)
  expectRefusal(await completeByRecoveryCode(service, one, recoveryCodes[0] ?? ''), 401, 'invalid_credentials')
  expect((await completeByRecoveryCode(service, two, created.body.recoveryCodes[9])).status).toBe(200)
  expect(await mailsOf(service, person)).toEqual(['second-factor-added', 'recovery-codes-made'])
  expect(await eventsOf(service, person, 'recovery-codes.created')).toHaveLength(1)
})

test('using up the recovery codes does not remove the app', async () => {
  const person = await newPerson(service)
  const { app, recoveryCodes } = await enrolApp(person)
  const pending = await beginLogins(service, person, 10)
  for (const [index, token] of pending.entries()) {
    expect((await completeByRecoveryCode(service, token, recoveryCodes[index] ?? '')).status).toBe(200)
  }
  const [row] = await execute(sql`select second_factors as kinds from users where id = ${person.userId}::uuid`)
  expect(row.kinds).toEqual(['totp'])
  expect((await completeByTotp(service, await person.beginLogin(), app.code())).status).toBe(200)
})

test('recovery codes have 140 random bits, are unique, and have the same hash in any spelling', () => {
  const codes = Array.from({ length: 100 }, generateRecoveryCodes).flat()
  expect(new Set(codes).size).toBe(1000)
  for (const code of codes) expect(code).toMatch(/^(?:[0-9a-hjkmnp-tv-z]{4}-){6}[0-9a-hjkmnp-tv-z]{4}$/)
  const spelling = fc.record({
    upper: fc.boolean(),
    zero: fc.constantFrom('0', 'o', 'O'),
    one: fc.constantFrom('1', 'i', 'l', 'L'),
    between: fc.constantFrom('', '-', ' ', ' - '),
  })
  fc.assert(
    fc.property(fc.constantFrom(...codes), spelling, (code, { upper, zero, one, between }) => {
      const cased = upper ? code.toUpperCase() : code
      const typed = cased.replaceAll('-', between).replaceAll('0', zero).replaceAll('1', one)
      expect(hashRecoveryCode(typed)).toEqual(hashRecoveryCode(code))
    }),
  )
  expect(new Set(codes.map((code) => hashRecoveryCode(code).toString('hex'))).size).toBe(1000)
})

test('a pending login’s token works for nothing else, and neither an unknown nor an expired one completes a login', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const pending = await person.beginLogin()
  expectRefusal(await callAs(service, pending)('GET', '/v5/me'), 401, 'invalid_token')
  expectRefusal(await callAs(service, pending)('GET', '/v5/me/second-factors'), 401, 'invalid_token')
  expectRefusal(await service.anonymous('POST', '/auth', { body: { token: pending } }), 401)
  for (const token of ['x', `pnd_${'A'.repeat(43)}`, `${pending}A`, person.organization.accessToken.slice(0, 400)]) {
    expectRefusal(await completeByTotp(service, token, app.code()), 401, 'invalid_credentials')
  }
  // A pending login rejects another person's code.
  const other = await newPerson(service)
  const otherEnrolment = await enrolApp(other)
  expectRefusal(await completeByTotp(service, pending, otherEnrolment.app.code()), 401, 'invalid_credentials')
  await execute(sql`update pending_logins set expires_at = now() where user_id = ${person.userId}::uuid`)
  expectRefusal(await completeByTotp(service, pending, app.code()), 401, 'invalid_credentials')
})

test('a wrong code and an unknown pending login get the same response', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const wrong = await completeByTotp(service, await person.beginLogin(), app.wrongCode())
  const unknown = await completeByTotp(service, `pnd_${'A'.repeat(43)}`, app.code())
  expect(wrong.body).toEqual(unknown.body)
})

test('changes to second factors require a re-authentication in the last five minutes', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  await backdateReauthentication(service, person, 360)
  const changes: [string, string, Json?][] = [
    ['POST', '/v5/me/totp'],
    ['POST', '/v5/me/totp/confirm', { code: app.code() }],
    ['DELETE', '/v5/me/totp'],
    ['POST', '/v5/me/recovery-codes'],
    ['POST', '/v5/me/passkeys/options'],
    ['PATCH', '/v5/me/passkeys/psk_019aa5b2c1d27e3fa4b5c6d7e8f90123', { name: 'x' }],
    ['DELETE', '/v5/me/passkeys/psk_019aa5b2c1d27e3fa4b5c6d7e8f90123'],
  ]
  for (const [method, path, body] of changes) {
    expectRefusal(await person.call(method, path, { body }), 403, 'reauthentication_required')
  }
  // With a second factor, the password alone is not enough.
  expectRefusal(await person.call('POST', '/v5/me/reauthenticate', { body: { password: person.password } }), 422)
  expectRefusal(await person.call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.wrongCode() } }), 422)
  expectRefusal(await person.call('DELETE', '/v5/me/totp'), 403, 'reauthentication_required')
  const proof = await person.call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.code() } })
  const call = callAfterReauthentication(service, proof)
  expectRefusal(await call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.code() } }), 422)
  expect((await call('DELETE', '/v5/me/totp')).status).toBe(204)
  expect(await eventsOf(service, person, 'reauthentication.failed')).toHaveLength(2)
  expect(await eventsOf(service, person, 'reauthentication.succeeded')).toMatchObject([{ details: { factor: 'totp' } }])
})

test('removing the last factor deletes the recovery codes and resets the sessions that used it', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const otherSession = await completeByTotp(service, await person.beginLogin(), app.code())
  expect((await person.call('DELETE', '/v5/me/totp')).status).toBe(204)
  expectRefusal(await person.call('DELETE', '/v5/me/totp'), 404, 'not_found')
  expect((await person.call('GET', '/v5/me/second-factors')).body).toEqual({
    totp: null,
    passkeys: [],
    recoveryCodes: { remaining: 0 },
  })
  expect((await person.logIn()).body.status).toBe('complete')
  const [row] = await execute(sql`select count(*)::int as count from sessions
    where user_id = ${person.userId}::uuid and second_factor_at is not null`)
  expect(row).toEqual({ count: 0 })
  expect((await callAs(service, otherSession.body.accessToken)('GET', '/v5/me')).status).toBe(200)
  expect(await mailsOf(service, person)).toEqual(['second-factor-added', 'second-factor-removed'])
})

test('an API key has no second factors', async () => {
  const { organization } = await newPerson(service)
  for (const [method, path] of [
    ['GET', '/v5/me/second-factors'],
    ['POST', '/v5/me/totp'],
    ['DELETE', '/v5/me/totp'],
    ['POST', '/v5/me/passkeys/options'],
  ] as const) {
    expectRefusal(await organization.call(method, path), 403, 'insufficient_permissions')
  }
})

test('after a restore without the secret, a recovery code replaces the app, but the password alone is not enough', async () => {
  const created = await createDatabase()
  const restored = await startTestService({}, created)
  try {
    const person = await newPerson(restored)
    const { app, recoveryCodes } = await enrolApp(person)
    const client = new pg.Client(created.connection)
    await client.connect()
    await removeEncryptedData(client)
    await client.end()
    const step = await person.logIn()
    expect(step.body).toMatchObject({ status: 'second_factor_required', factors: ['recovery-code'] })
    const pending: string = step.body.pendingToken
    expectRefusal(await completeByTotp(restored, pending, app.code()), 401, 'invalid_credentials')
    const done = await completeByRecoveryCode(restored, pending, recoveryCodes[0] ?? '')
    expect(done.status).toBe(200)
    const again = await enrolApp({ call: callAs(restored, done.body.accessToken) })
    expect((await completeByTotp(restored, await person.beginLogin(), again.app.code())).status).toBe(200)
  } finally {
    await restored.close()
  }
})

test('neither a database dump nor the log contains an app’s secret or a recovery code', async () => {
  const person = await newPerson(service)
  const begun = await person.call('POST', '/v5/me/totp')
  const app = new AuthenticatorApp(begun.body.uri)
  const { recoveryCodes } = (await confirmApp(person, app)).body
  const pendingToken = await person.beginLogin()
  const secret: string = begun.body.secret
  const tables = await execute(sql`select relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`)
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['totp_secrets', 'recovery_codes']))
  let dump = ''
  for (const { name } of tables) {
    const { rows } = {
      rows: await execute(sql`select query_to_xml(${`select * from ${name}`}, true, false, '')::text as text`),
    }
    dump += rows[0].text
  }
  expect(dump).toContain(person.email)
  const bytes = Buffer.from(Secret.fromBase32(secret).bytes)
  const forms = [secret, bytes.toString('hex'), bytes.toString('base64')]
  for (const value of [
    ...forms,
    pendingToken,
    ...recoveryCodes,
    ...recoveryCodes.map((one: string) => one.replaceAll('-', '')),
  ]) {
    expect(dump).not.toContain(value)
    expect(service.logged.join('')).not.toContain(value)
  }
})
