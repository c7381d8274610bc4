import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ProcessResult, run, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { goodPassword, logIn, loggedIn, newOwner } from '../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { startTestService, type TestService } from '../../test/service.ts'

let database: TestDatabase
let service: TestService
let folder: string
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
  folder = await mkdtemp(join(tmpdir(), 'rapport-cli-user-'))
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const command = (words: readonly string[], more: Record<string, string> = {}, as = run): Promise<ProcessResult> =>
  as(['user', ...words], { environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder, ...more } })
/** Runs in another process, whose changes the service must notice too. */
const inOtherProcess = (words: readonly string[], more?: Record<string, string>) => command(words, more, runProcess)

test('reset-password sets a new password and ends all sessions, immediately in a running service', async () => {
  const { email, password, userId, call } = await newOwner(service)
  const weak = await command(['reset-password', '--email', email], { RAPPORT_PASSWORD: 'password1234' })
  expect(weak.code).toBe(1)
  expect(weak.errors).toContain('most common')
  expect((await call('GET', '/v5/me')).status).toBe(200)
  const done = await inOtherProcess(['reset-password', '--email', email, '--json'], { RAPPORT_PASSWORD: goodPassword })
  expect(done).toEqual({ code: 0, errors: '', output: `${JSON.stringify({ userId })}\n` })
  expect((await call('GET', '/v5/me')).status).toBe(401)
  expect((await logIn(service, email, password)).status).toBe(401)
  const again = await loggedIn(service, email)
  const log = await again.call('GET', '/v5/audit-log?filter.action.equals=password.reset')
  expect(log.body).toMatchObject([{ actorKind: 'command', recordId: userId }])
})

test('end-sessions logs out one person everywhere and nobody else', async () => {
  const [one, other] = [await newOwner(service), await newOwner(service)]
  expect((await inOtherProcess(['end-sessions', '--email', one.email.toUpperCase()])).code).toBe(0)
  expect((await one.call('GET', '/v5/me')).status).toBe(401)
  expect((await other.call('GET', '/v5/me')).status).toBe(200)
  await loggedIn(service, one.email, one.password)
})

test('a disabled person is logged out immediately and cannot log in until enabled again', async () => {
  const { email, password, call } = await newOwner(service)
  const done = await inOtherProcess(['disable', '--email', email])
  // The key that was created with the organization keeps working: it belongs to the organization.
  expect([done.code, done.output]).toEqual([
    0,
    expect.stringMatching(/They have created an API key, which belongs to the organization/),
  ])
  expect(done.output).toContain('These organizations have no other owner who can log in: ')
  expect((await call('GET', '/v5/me')).status).toBe(401)
  expect((await logIn(service, email, password)).body.code).toBe('invalid_credentials')
  expect((await inOtherProcess(['enable', '--email', email])).code).toBe(0)
  await loggedIn(service, email, password)
})

test('an unknown address is reported and changes nothing', async () => {
  const ended = await command(['disable', '--email', 'nobody@example.com'])
  expect(ended).toEqual({ code: 1, output: '', errors: 'There is no person with the address nobody@example.com.\n' })
})
