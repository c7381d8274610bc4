import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOneTimeToken } from '../access/one-time-token-store.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import {
  beginLogins,
  completeByRecoveryCode,
  completeByTotp,
  enrolApp,
  eventsOf,
  newPerson,
} from '../../../test/second-factors.ts'
import { callAfterReauthentication, callAs, untilServed } from '../../../test/people.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const execute = (statement: Sql): Promise<Json[]> => service.database.crossTenantQuery('check the database', statement)

test('after five wrong codes a pending login rejects the correct code too', async () => {
  const person = await newPerson(service)
  const { app, recoveryCodes } = await enrolApp(person)
  const pending = await person.beginLogin()
  for (let count = 0; count < 3; count++)
    expectRefusal(await completeByTotp(service, pending, app.wrongCode()), 401, 'invalid_credentials')
  for (let count = 0; count < 2; count++)
    expectRefusal(await completeByRecoveryCode(service, pending, 'none'), 401, 'invalid_credentials')
  expectRefusal(await completeByTotp(service, pending, app.code()), 401, 'invalid_credentials')
  expectRefusal(await completeByRecoveryCode(service, pending, recoveryCodes[0] ?? ''), 401, 'invalid_credentials')
  expect((await completeByTotp(service, await person.beginLogin(), app.code())).status).toBe(200)
  expect(await eventsOf(service, person, 'factor.failed')).toHaveLength(5)
})

test('a person who knows the password can guess twenty codes a day, without locking the owner out', async () => {
  const person = await newPerson(service)
  const { app, recoveryCodes } = await enrolApp(person)
  // The owner's device is known, the other one is not.
  const ownDevice = { 'user-agent': 'my browser' }
  const otherDevice = { 'user-agent': 'another program' }
  const login = (path: string, body: Json, headers: Record<string, string>) =>
    service.anonymous('POST', path, { body, headers })
  const known = await person.beginLogin()
  expect(
    (await login('/auth/login/recovery-code', { pendingToken: known, code: recoveryCodes[0] }, ownDevice)).status,
  ).toBe(200)

  const pending = await beginLogins(service, person, 40)
  const guess = (pendingToken: string) =>
    untilServed(() => login('/auth/login/totp', { pendingToken, code: app.wrongCode() }, otherDevice))
  // Concurrent guesses are either rejected without a check or counted one by one.
  const guesses = await Promise.all(pending.map(guess))
  for (const token of pending) guesses.push(await guess(token))
  expect(guesses.filter(({ status }) => status === 401)).toHaveLength(20)
  expect(guesses.filter(({ status }) => status === 429)).toHaveLength(60)
  const refused = guesses.at(-1)
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(86_000)
  expect(await eventsOf(service, person, 'factor.failed')).toHaveLength(20)

  const [one = '', two = '', three = ''] = await beginLogins(service, person, 3)
  expectRefusal(
    await login('/auth/login/totp', { pendingToken: one, code: app.code() }, otherDevice),
    429,
    'rate_limited',
  )
  expect((await login('/auth/login/totp', { pendingToken: two, code: app.code() }, ownDevice)).status).toBe(200)
  expect(
    (await login('/auth/login/recovery-code', { pendingToken: three, code: recoveryCodes[1] }, otherDevice)).status,
  ).toBe(200)
})

test('a stolen session can guess at most twenty codes a day', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const guess = () =>
    untilServed(() => person.call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.wrongCode() } }))
  const responses = await Promise.all(Array.from({ length: 30 }, guess))
  for (let count = 0; count < 30; count++) responses.push(await guess())
  expect(responses.filter(({ status }) => status === 422)).toHaveLength(20)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(40)
  expectRefusal(
    await person.call('POST', '/v5/me/reauthenticate/totp', { body: { code: app.code() } }),
    429,
    'rate_limited',
  )
  // Logins have a separate limit.
  expect((await completeByTotp(service, await person.beginLogin(), app.code())).status).toBe(200)
})

test('an organization that requires a second factor rejects sessions without one at once, but lets them set one up', async () => {
  const person = await newPerson(service)
  const { organizationId } = person.organization
  expect((await person.call('GET', '/v5/contacts')).status).toBe(200)
  const setRequirement = (wanted: boolean) =>
    execute(sql`update organizations set requires_second_factor = ${wanted}
      where id = ${decodeId('org', organizationId)}::uuid`)
  await setRequirement(true)
  const tryAll = () =>
    Promise.all([
      person.call('GET', '/v5/contacts'),
      person.call('POST', '/v5/contacts', { body: { name: 'Ada' } }),
      person.call('GET', '/v5/contacts', { headers: { 'service-organization-id': organizationId } }),
    ])
  for (const answer of await tryAll()) expectRefusal(answer, 403, 'second_factor_required')
  // The requirement does not apply to API keys.
  expect((await person.organization.call('GET', '/v5/contacts')).status).toBe(200)

  const { app } = await enrolApp(person)
  expect((await tryAll()).map(({ status }) => status)).toEqual([200, 201, 200])
  const stepUp = await completeByTotp(service, await person.beginLogin(), app.code())
  expect((await callAs(service, stepUp.body.accessToken)('GET', '/v5/contacts')).status).toBe(200)
  // Without the factor every session is rejected again.
  expect((await person.call('DELETE', '/v5/me/totp')).status).toBe(204)
  expectRefusal(await callAs(service, stepUp.body.accessToken)('GET', '/v5/contacts'), 403, 'second_factor_required')
  expectRefusal((await tryAll())[0], 403, 'second_factor_required')
})

test('an older session meets the requirement once it has verified the second factor', async () => {
  const person = await newPerson(service)
  const beforeFactor = callAs(service, (await person.logIn()).body.accessToken)
  const { app } = await enrolApp(person)
  await execute(sql`update organizations set requires_second_factor = true
    where id = ${decodeId('org', person.organization.organizationId)}::uuid`)
  expectRefusal(await beforeFactor('GET', '/v5/contacts'), 403, 'second_factor_required')
  const stepUp = callAfterReauthentication(
    service,
    await beforeFactor('POST', '/v5/me/reauthenticate/totp', { body: { code: app.code() } }),
  )
  expect((await stepUp('GET', '/v5/contacts')).status).toBe(200)
})

test('a password reset by mail does not bypass the second factor', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const pending = await person.beginLogin()
  const { userId, email } = person
  const token = await service.database.crossTenantTransaction('log in', (db) =>
    createOneTimeToken(db, { purpose: 'reset-password', userId, email, lifetimeSeconds: 60 }),
  )
  const password = 'another password that is long enough'
  expect((await service.anonymous('POST', '/auth/reset-password', { body: { token, password } })).status).toBe(204)
  expectRefusal(await person.call('GET', '/v5/me'), 401, 'invalid_token')
  // A login that was started with the old password has ended.
  expectRefusal(await completeByTotp(service, pending, app.code()), 401, 'invalid_credentials')
  const step = await service.anonymous('POST', '/auth/login', { body: { email, password } })
  expect(step.body.status).toBe('second_factor_required')
  expect((await completeByTotp(service, step.body.pendingToken, app.code())).status).toBe(200)
})
