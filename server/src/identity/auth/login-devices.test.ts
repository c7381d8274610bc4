import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import {
  goodPassword,
  receiveLinkToken,
  logIn,
  loggedIn,
  newEmail,
  newOwner,
  setUpToken,
  untilServed,
} from '../../../test/people.ts'
import { startTestService } from '../../../test/service.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open', TRUST_PROXY: '1' })
})
afterAll(() => mailed.close())

const from = (address: string) => ({ 'x-forwarded-for': address })

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  mailed.service.anonymous('POST', path, { body, headers })

/** Fails logins from unknown devices until all unknown devices are rate-limited. */
async function blockUnknownDevices(email: string): Promise<void> {
  for (let index = 1; index <= 10; index++)
    await untilServed(() => logIn(mailed.service, email, 'guess after guess', from(`203.0.113.${index}`)))
  expect((await logIn(mailed.service, email, 'one more guess', from('203.0.113.99'))).status).toBe(429)
}

test('a person who is locked out by failed logins of unknown devices can log in where they reset the password by mail', async () => {
  const { email, password } = await newOwner(mailed.service)
  await blockUnknownDevices(email)
  expect((await logIn(mailed.service, email, password, from('198.51.100.1'))).status).toBe(429)
  await post('/auth/forgot-password', { email })
  const token = await receiveLinkToken(mailed.receiver, email, 'reset-password')
  const reset = await post('/auth/reset-password', { token, password: goodPassword }, from('198.51.100.1'))
  expect(reset.status, reset.text).toBe(204)
  expect((await logIn(mailed.service, email, goodPassword, from('203.0.113.99'))).status).toBe(429)
  const { call } = await loggedIn(mailed.service, email, goodPassword, from('198.51.100.1'))
  expect((await call('GET', '/v5/me/sessions')).body).toHaveLength(1)
})

test('a device stays known for thirty days after its last use, however old its login is', async () => {
  const { email, password } = await newOwner(mailed.service)
  await loggedIn(mailed.service, email, password, from('198.51.100.2'))
  const setLastUse = (days: number) =>
    mailed.service.database.crossTenantQuery(
      'manage an account',
      sql`update sessions set created_at = now() - interval '45 days', last_used_at = now() - make_interval(days => ${days})
        where address = '198.51.100.2'`,
    )
  await blockUnknownDevices(email)
  await setLastUse(31)
  expect((await logIn(mailed.service, email, password, from('198.51.100.2'))).status).toBe(429)
  await setLastUse(29)
  await loggedIn(mailed.service, email, password, from('198.51.100.2'))
})

test('a failed login with a known address does not wait for its audit log entry', async () => {
  const { email } = await newOwner(mailed.service)
  await mailed.service.database.crossTenantTransaction('manage an account', async (spanning) => {
    await spanning.query(sql`lock table pending_events in exclusive mode`)
    const response = await logIn(mailed.service, email, 'not the password at all', from('198.51.100.3'))
    expect(response.status).toBe(401)
  })
})

test.each(['set-up', 'sign-up', 'reset-password', 'verify-address'] as const)(
  'a link to %s does nothing once it has expired',
  async (purpose) => {
    const service = purpose === 'set-up' ? await startTestService() : mailed.service
    try {
      const owner = purpose === 'set-up' || purpose === 'sign-up' ? undefined : await newOwner(service)
      const email = owner?.email ?? newEmail()
      if (purpose === 'sign-up') await post('/auth/sign-up', { email })
      if (purpose === 'reset-password') await post('/auth/forgot-password', { email })
      if (purpose === 'verify-address') await owner?.call('POST', '/v5/me/address', { body: { email } })
      const token =
        purpose === 'set-up' ? await setUpToken(service) : await receiveLinkToken(mailed.receiver, email, purpose)
      const setExpiry = (seconds: number) =>
        service.database.crossTenantQuery(
          'manage an account',
          sql`update one_time_tokens set expires_at = now() + make_interval(secs => ${seconds}) where purpose = ${purpose}`,
        )
      const body = { email, token, name: 'Grace', organization: 'Grace & Co', password: goodPassword }
      const [path, members] = requests[purpose]
      const useLink = () =>
        service.anonymous('POST', path, { body: Object.fromEntries(members.map((name) => [name, body[name]])) })
      const [{ tokens } = { tokens: '' }] = await service.database.crossTenantQuery<{ tokens: string }>(
        'manage an account',
        sql`select json_agg(token)::text as tokens from one_time_tokens token where purpose = ${purpose}`,
      )
      await setExpiry(0)
      expect(await useLink()).toMatchObject({ status: 422, body: { details: [{ field: 'token' }] } })
      // The maintenance of a service that has just started may have purged the expired link, or be about to.
      await service.database.crossTenantQuery(
        'manage an account',
        sql`insert into one_time_tokens select * from json_populate_recordset(null::one_time_tokens, ${tokens}::json)
          on conflict (hash) do update set expires_at = now() + interval '60 s'`,
      )
      await setExpiry(60)
      expect((await useLink()).status).toBeLessThan(300)
    } finally {
      if (service !== mailed.service) await service.close()
    }
  },
)

const requests = {
  'set-up': ['/auth/set-up', ['email', 'token', 'name', 'organization', 'password']],
  'sign-up': ['/auth/sign-up/confirm', ['token', 'name', 'organization', 'password']],
  'reset-password': ['/auth/reset-password', ['token', 'password']],
  'verify-address': ['/auth/verify-address', ['token']],
} as const
