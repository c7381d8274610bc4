import { createSecretKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Access, openAccess } from '../../../test/access.ts'
import type { BootstrapResult } from '../../cli/bootstrap.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { createSessions, reuseGracePeriod } from './sessions.ts'

let access: Access
let begun: BootstrapResult

beforeAll(async () => {
  access = await openAccess()
})

beforeEach(async () => {
  begun = await access.newOrganization()
})

afterAll(async () => {
  await access.close()
})

const refresh = (token: string) => access.sessions.refresh(token)

const expectRefused = (token: string) =>
  expect(refresh(token)).rejects.toMatchObject({
    code: 'invalid_token',
    status: 401,
    headers: { 'www-authenticate': expect.stringMatching(/^Bearer /) as string },
  })

async function hasEnded(): Promise<boolean> {
  const [row] = await access.database.crossTenantQuery<{ ended: boolean }>(
    'find the session of a request',
    sql`select ended_at is not null as ended from sessions where id = ${decodeId('session', begun.sessionId)}::uuid`,
  )
  return row?.ended === true
}

test('a refresh returns two new tokens for the same user and session', async () => {
  const response = await refresh(begun.refreshToken)
  expect(Object.keys(response).sort()).toEqual(['accessToken', 'refreshToken', 'sessionId', 'userId'])
  expect(response).toMatchObject({ userId: begun.userId, sessionId: begun.sessionId })
  expect(response.refreshToken).not.toBe(begun.refreshToken)
  expect(response.accessToken).not.toBe(begun.accessToken)
  expect(await access.tokens.verify(response.accessToken)).toEqual({
    userId: decodeId('usr', begun.userId),
    sessionId: decodeId('session', begun.sessionId),
    organizationId: decodeId('org', begun.organizationId),
  })
})

test('a chain of refreshes continues as long as each uses the newest token', async () => {
  let token = begun.refreshToken
  const seen = new Set([token])
  for (let count = 1; count <= 20; count++) {
    access.clock.now += 60 * 60 * 1000
    token = (await refresh(token)).refreshToken
    seen.add(token)
    expect(seen.size).toBe(count + 1)
  }
})

test('the previous token returns the same, working successor for 30 seconds', async () => {
  const first = await refresh(begun.refreshToken)
  access.clock.now += reuseGracePeriod
  const again = await refresh(begun.refreshToken)
  expect(again.refreshToken).toBe(first.refreshToken)
  expect((await refresh(first.refreshToken)).refreshToken).not.toBe(first.refreshToken)
})

test('fifty concurrent refreshes in two processes return one successor', async () => {
  const other = access.anotherProcess().sessions
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => (index % 2 ? other : access.sessions).refresh(begun.refreshToken)),
  )
  expect(new Set(responses.map(({ refreshToken }) => refreshToken)).size).toBe(1)
  expect(await hasEnded()).toBe(false)
})

test('a previous token sent after 30 seconds is rejected and permanently ends the session', async () => {
  const { refreshToken } = await refresh(begun.refreshToken)
  access.clock.now += reuseGracePeriod + 1
  await expectRefused(begun.refreshToken)
  expect(await hasEnded()).toBe(true)
  await expectRefused(refreshToken)
})

test('a previous token sent after its successor was used is rejected and ends the session', async () => {
  const first = await refresh(begun.refreshToken)
  const second = await refresh(first.refreshToken)
  await expectRefused(begun.refreshToken)
  expect(await hasEnded()).toBe(true)
  await expectRefused(first.refreshToken)
  await expectRefused(second.refreshToken)
})

test('ending a session invalidates its access tokens immediately, in every process', async () => {
  const other = access.anotherProcess().identifier
  const authorization = `Bearer ${begun.accessToken}`
  const caller = await other.selectOrganization(await other.authenticate(authorization), undefined)
  await refresh((await refresh(begun.refreshToken)).refreshToken)
  await other.confirm(caller)
  await expectRefused(begun.refreshToken)
  await expect(other.confirm(caller)).rejects.toThrow()
  other.forget(caller)
  await expect(other.authenticate(authorization)).rejects.toMatchObject({ code: 'invalid_token' })
})

test('a token that was never issued is rejected and does not affect the session', async () => {
  const [head, generation] = [begun.refreshToken.slice(0, 36), begun.refreshToken.slice(36, 44)]
  const texts = [
    '',
    'rft_',
    begun.accessToken,
    begun.apiKey,
    ` ${begun.refreshToken}`,
    `${begun.refreshToken}A`,
    `${head}${generation}${'A'.repeat(43)}`,
    `${head}00000001${begun.refreshToken.slice(44)}`,
    `${head}ffffffff${begun.refreshToken.slice(44)}`,
    `rft_${'0'.repeat(32)}${begun.refreshToken.slice(36)}`,
  ]
  for (const text of texts) await expectRefused(text)
  expect(await hasEnded()).toBe(false)
  await refresh(begun.refreshToken)
})

test('the tokens of a session work neither for another session nor with another secret', async () => {
  const other = await access.newOrganization()
  await expectRefused(other.refreshToken.slice(0, 36) + begun.refreshToken.slice(36))
  const { database, tokens } = access
  const elsewhere = createSessions({ database, tokens, secret: createSecretKey(randomBytes(32)) })
  await expect(elsewhere.refresh(begun.refreshToken)).rejects.toMatchObject({ code: 'invalid_token' })
  await refresh(other.refreshToken)
  await refresh(begun.refreshToken)
})
