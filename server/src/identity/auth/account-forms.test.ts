import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { goodPassword, receiveLinkToken, newEmail, newOwner, setUpToken } from '../../../test/people.ts'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'

let mailed: MailedService
let service: TestService
beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  ;({ service } = mailed)
})
afterAll(() => mailed.close())

const post = (path: string, body: unknown, at = service) => at.anonymous('POST', path, { body })
const deadToken = `ott_${'a'.repeat(43)}`
const weak = 'password1234'

const invalidFields = ({ status, body }: { status: number; body: Json }) => {
  expect(status).toBe(422)
  return body.details.map(({ field }: Json) => field).toSorted()
}

test('the setup form reports all errors at once', async () => {
  const empty = await startTestService()
  try {
    const bad = { token: deadToken, email: 'ada', name: '', organization: '&&&', password: weak }
    const all = ['email', 'name', 'organization', 'password', 'token']
    expect(invalidFields(await post('/auth/set-up', bad, empty))).toEqual(all)
    const token = await setUpToken(empty)
    const { name: _, ...nameless } = { ...bad, token, email: 'ada.lovelace@example.com' }
    expect(invalidFields(await post('/auth/set-up', { ...nameless, password: 'Lovelace1815!' }, empty))).toEqual([
      'name',
      'organization',
      'password',
    ])
  } finally {
    await empty.close()
  }
})

test.each([
  ['/auth/sign-up/confirm', { organization: '&&&' }, ['name', 'organization', 'password', 'token']],
  ['/auth/invitations/accept', {}, ['name', 'password', 'token']],
  ['/auth/reset-password', {}, ['password', 'token']],
])('%s reports an invalid link and a weak password together with all other errors', async (path, more, fields) => {
  expect(invalidFields(await post(path, { token: deadToken, password: weak, ...more }))).toEqual(fields)
})

test('checking a link does not use it, and an invalid link is rejected', async () => {
  const [owner, forgetful, signingUp] = [await newOwner(service), await newOwner(service), newEmail()]
  await post('/auth/sign-up', { email: signingUp })
  await post('/auth/forgot-password', { email: forgetful.email })
  await owner.call('POST', '/v5/me/address', { body: { email: owner.email } })
  for (const [purpose, email] of [
    ['sign-up', signingUp],
    ['reset-password', forgetful.email],
    ['verify-address', owner.email],
  ] as const) {
    const token = await receiveLinkToken(mailed.receiver, email, purpose)
    for (let time = 0; time < 2; time++) {
      expect(await post('/auth/links/check', { purpose, token })).toMatchObject({ status: 200, body: { email } })
    }
    for (const other of ['set-up', purpose === 'sign-up' ? 'reset-password' : 'sign-up']) {
      expect(invalidFields(await post('/auth/links/check', { purpose: other, token }))).toEqual(['token'])
    }
  }
  expect(invalidFields(await post('/auth/links/check', { purpose: 'sign-up', token: deadToken }))).toEqual(['token'])
  // Invitations have a separate route, which returns more.
  expect(invalidFields(await post('/auth/links/check', { purpose: 'invitation', token: deadToken }))).toEqual([
    'purpose',
  ])
})

test('the password check applies the same rules as setting a password', async () => {
  const check = async (body: Json) => (await post('/auth/passwords/check', body)).body.fault
  expect(await check({ password: goodPassword })).toBeNull()
  expect(await check({ password: 'short' })).toContain('12 to 128')
  expect(await check({ password: weak })).toContain('most common')
  const own = 'Zwingliburger1815!'
  expect(await check({ password: own })).toBeNull()
  expect(await check({ password: own, email: 'zwingliburger@example.com' })).toContain('your address')
  expect(await check({ password: own, names: ['Ada', 'Zwingliburger'] })).toContain('organization')
  expect(invalidFields(await post('/auth/passwords/check', {}))).toEqual(['password'])
})
