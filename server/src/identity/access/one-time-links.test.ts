import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginPendingLogin, endPendingLogin, lockPendingLogin } from './login-store.ts'
import {
  createOneTimeToken,
  type OneTimePurpose,
  readOneTimeToken,
  consumeOneTimeToken,
} from './one-time-token-store.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { storeStep, consumeStep, type StepKind } from '../single-sign-on/flow-store.ts'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import {
  goodPassword,
  receiveLinkToken,
  logIn,
  newEmail,
  newOwner,
  setUpToken,
  type TestOwner,
} from '../../../test/people.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let mailed: MailedService
let service: TestService
let owner: TestOwner
beforeAll(async () => {
  mailed = await startMailedService({ SIGN_UP: 'open' })
  ;({ service } = mailed)
  owner = await newOwner(service)
})
afterAll(() => mailed.close())

const transact = <Result>(work: (db: CrossTenantConnection) => Promise<Result>): Promise<Result> =>
  service.database.crossTenantTransaction('check the database', work)

const userId = () => decodeId('usr', owner.userId) ?? ''

const isStored = async (token: string, { database }: TestService = service): Promise<boolean> => {
  const rows = await database.crossTenantQuery(
    'check the database',
    sql`select from one_time_tokens where hash = ${sha256(token)}`,
  )
  return rows.length > 0
}

const purposes: OneTimePurpose[] = ['set-up', 'sign-up', 'verify-address', 'reset-password', 'invitation']

test.each(purposes)('a one-time token to %s is valid once and then deleted', async (purpose) => {
  const createToken = () => transact((db) => createOneTimeToken(db, { purpose, userId: userId(), lifetimeSeconds: 60 }))
  const [token, other] = [await createToken(), await createToken()]
  const consume = () => transact((db) => consumeOneTimeToken(db, purpose, token))
  expect(await consume()).toMatchObject({ userId: userId() })
  expect(await isStored(token)).toBe(false)
  expect(await consume()).toBeUndefined()
  expect(await transact((db) => readOneTimeToken(db, purpose, token))).toBeUndefined()
  const results = await Promise.all(
    Array.from({ length: 8 }, () => transact((db) => consumeOneTimeToken(db, purpose, other))),
  )
  expect(results.filter((one) => one !== undefined)).toHaveLength(1)
})

test.each<StepKind>(['link', 'flow', 'proof'])('a single sign-on step of kind %s is valid once', async (kind) => {
  const body = { name: 'Ours', issuer: 'https://id.example.com', clientId: 'rapport', clientSecret: 'x' }
  const { id } = (await owner.organization.call('POST', '/v5/sso-connections', { body })).body
  const step = {
    organizationId: decodeId('org', owner.organizationId) ?? '',
    connectionId: decodeId('sso', id) ?? '',
    userId: userId(),
  }
  const text = `a text of ${kind}`
  await transact((db) => storeStep(db, kind, text, step))
  expect(await transact((db) => consumeStep(db, { kind, text }))).toMatchObject(step)
  expect(await transact((db) => consumeStep(db, { kind, text }))).toBeUndefined()
})

test('a login that was completed with its second factor is no longer pending', async () => {
  const text = await transact((db) => beginPendingLogin(db, { userId: userId(), wantsCookie: false }))
  const { id = '' } = (await transact((db) => lockPendingLogin(db, text))) ?? {}
  await transact((db) => endPendingLogin(db, id))
  expect(await transact((db) => lockPendingLogin(db, text))).toBeUndefined()
})

interface LinkUse {
  path: string
  token: string
  fields?: Record<string, unknown>
}

const person = { name: 'Grace', password: goodPassword }

/** The HTTP request that uses each kind of link. */
const linkUses: Record<Exclude<OneTimePurpose, 'set-up'>, () => Promise<LinkUse>> = {
  'sign-up': async () => {
    const email = newEmail()
    await service.anonymous('POST', '/auth/sign-up', { body: { email } })
    const fields = { ...person, organization: 'Grace & Co' }
    return { path: '/auth/sign-up/confirm', token: await receiveLinkToken(mailed.receiver, email, 'sign-up'), fields }
  },
  'verify-address': async () => {
    const { call, email } = await newOwner(service)
    await call('POST', '/v5/me/address', { body: { email } })
    return { path: '/auth/verify-address', token: await receiveLinkToken(mailed.receiver, email, 'verify-address') }
  },
  'reset-password': async () => {
    const { email } = await newOwner(service)
    await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
    const token = await receiveLinkToken(mailed.receiver, email, 'reset-password')
    return { path: '/auth/reset-password', token, fields: { password: goodPassword } }
  },
  invitation: async () => {
    const { token } = await mailed.invite(owner.call)
    return { path: '/auth/invitations/accept', token, fields: person }
  },
}

test.each(Object.entries(linkUses))('a used link to %s is deleted and rejected', async (_, prepare) => {
  const { path, token, fields } = await prepare()
  expect(await isStored(token)).toBe(true)
  const use = () => service.anonymous('POST', path, { body: { token, ...fields } })
  expect((await use()).status).toBeLessThan(300)
  expect(await isStored(token)).toBe(false)
  expect(await use()).toMatchObject({ status: 422, body: { details: [{ field: 'token' }] } })
})

test('an invitation accepted with an existing account is deleted, and a reset link works once', async () => {
  const { call, email } = await newOwner(service)
  const { token } = await mailed.invite(owner.call, { email })
  const join = () => call('POST', '/v5/me/invitations', { body: { token } })
  expect((await join()).status).toBe(200)
  expect(await isStored(token)).toBe(false)
  expect(await join()).toMatchObject({ status: 422, body: { details: [{ field: 'token' }] } })
  await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  const reset = await receiveLinkToken(mailed.receiver, email, 'reset-password')
  const setTo = (password: string) =>
    service.anonymous('POST', '/auth/reset-password', { body: { token: reset, password } })
  expect((await setTo('another quiet harbour')).status).toBe(204)
  expect((await setTo('yet another harbour')).status).toBe(422)
  expect((await logIn(service, email, 'another quiet harbour')).status).toBe(200)
})

test('the set-up link is deleted after use', async () => {
  const empty = await startTestService()
  try {
    const token = (await setUpToken(empty)) ?? ''
    expect(await isStored(token, empty)).toBe(true)
    const body = { token, email: newEmail(), organization: 'Ada & Co', ...person }
    expect((await empty.anonymous('POST', '/auth/set-up', { body })).status).toBe(200)
    expect(await isStored(token, empty)).toBe(false)
    const again = { ...body, email: newEmail() }
    expect((await empty.anonymous('POST', '/auth/set-up', { body: again })).status).toBe(422)
  } finally {
    await empty.close()
  }
})
