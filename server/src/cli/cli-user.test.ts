import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ProcessResult, run, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { addMember } from '../identity/members/store.ts'
import { decodeId } from '../platform/model/ids.ts'
import { identifier, sql } from '../platform/model/sql.ts'
import { goodPassword, logIn, loggedIn, newOwner, tokenInLink } from '../../test/people.ts'
import { enrolApp, eventsOf, mailsOf, newPerson } from '../../test/second-factors.ts'
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

test('remove-second-factors lets a person in who has lost theirs, and ends their sessions', async () => {
  const person = await newPerson(service)
  await enrolApp(person)
  expect((await person.logIn()).body.status).toBe('second_factor_required')
  const done = await inOtherProcess(['remove-second-factors', '--email', person.email])
  expect(done).toMatchObject({ code: 0, errors: '' })
  expect(done.output).toContain('Removed: recovery-code, totp.')
  expect((await person.call('GET', '/v5/me')).status).toBe(401)
  expect((await person.logIn()).body.status).toBe('complete')
  expect(await mailsOf(service, person)).toEqual(['second-factor-added', 'second-factor-removed'])
  expect(await eventsOf(service, person, 'factor.removed')).toEqual(
    ['recovery-code', 'totp'].map((factor) => ({ kind: 'command', details: { factor } })),
  )
  const again = await command(['remove-second-factors', '--email', person.email])
  expect(again).toMatchObject({ code: 1, errors: `${person.email} has no second factor.\n` })
})

test('promote makes a member an owner, also of an organization whose owners cannot log in', async () => {
  const owner = await newOwner(service)
  const member = await newOwner(service)
  const add = {
    organizationId: decodeId('org', owner.organizationId) ?? '',
    userId: decodeId('usr', member.userId) ?? '',
  }
  const words = ['promote', '--email', member.email, '--organization', owner.organizationId]
  expect((await command(words)).errors).toContain('is not a member')
  await service.database.crossTenantTransaction('check the database', (db) => addMember(db, { ...add, role: 'viewer' }))
  await command(['disable', '--email', owner.email])
  expect(await inOtherProcess(words)).toMatchObject({ code: 0, errors: '' })
  const headers = { 'service-organization-id': owner.organizationId }
  const { body } = await member.call('GET', '/v5/audit-log?filter.action.equals=member.updated', { headers })
  expect(body).toMatchObject([{ actorKind: 'command', recordId: member.userId, details: { role: 'owner' } }])
  expect((await command(words)).errors).toContain('is already an owner')
})

test('invite-owner prints a link that works although no owner of the organization can log in', async () => {
  const owner = await newOwner(service)
  const guest = await newOwner(service)
  await command(['disable', '--email', owner.email])
  const invite = async () => {
    const done = await command([
      'invite-owner',
      '--email',
      guest.email,
      '--organization',
      owner.organizationId,
      '--json',
    ])
    expect(done).toMatchObject({ code: 0, errors: '' })
    return tokenInLink(JSON.parse(done.output).url)
  }
  const [replaced, token] = [await invite(), await invite()]
  const accept = (text: string) => guest.call('POST', '/v5/me/invitations', { body: { token: text } })
  expect((await accept(replaced)).status).toBe(422)
  expect((await accept(token)).body).toMatchObject({ id: owner.organizationId, role: 'owner' })
  expect((await accept(token)).status).toBe(422)
})

test('invitation-link prints a link of an open invitation, which the audit log records', async () => {
  const [owner, guest] = [await newOwner(service), await newOwner(service)]
  const words = ['invitation-link', '--email', guest.email, '--organization', owner.organizationId, '--json']
  expect((await command(words)).errors).toContain(`no open invitation for ${guest.email}`)
  const invited = await owner.call('POST', '/v5/invitations', { body: { email: guest.email, role: 'viewer' } })
  expect(invited.status, invited.text).toBe(201)
  const done = await command(words)
  expect(done).toMatchObject({ code: 0, errors: '' })
  const { url, invitationId, expiresAt } = JSON.parse(done.output)
  expect([invitationId, expiresAt]).toEqual([invited.body.id, invited.body.expiresAt])
  const { body: events } = await owner.call('GET', '/v5/audit-log?filter.action.equals=invitation.resent')
  expect(events).toMatchObject([{ actorKind: 'command', recordId: invited.body.id }])
  const accepted = await guest.call('POST', '/v5/me/invitations', { body: { token: tokenInLink(url) } })
  expect(accepted.body).toMatchObject({ id: owner.organizationId, role: 'viewer' })
})

test('delete erases a person, keeps what belongs to the organization, and never removes the last owner', async () => {
  const owner = await newOwner(service)
  const words = ['delete', '--email', owner.email]
  expect((await command(words)).errors).toContain('--confirm')
  const confirmed = [...words, '--confirm', owner.email]
  const last = await command(confirmed)
  expect(last.code).toBe(1)
  expect(last.errors).toContain('is the only owner who can log in of: ')
  const guest = await newOwner(service)
  const add = {
    organizationId: decodeId('org', owner.organizationId) ?? '',
    userId: decodeId('usr', guest.userId) ?? '',
  }
  await service.database.crossTenantTransaction('check the database', (db) => addMember(db, { ...add, role: 'owner' }))

  expect(await inOtherProcess(confirmed)).toMatchObject({ code: 0, errors: '', output: `${owner.email} is deleted.\n` })
  expect((await owner.call('GET', '/v5/me')).status).toBe(401)
  expect((await logIn(service, owner.email, owner.password)).body.code).toBe('invalid_credentials')
  // Their key belongs to the organization.
  expect((await owner.organization.call('GET', '/v5/contacts')).status).toBe(200)
  const { body: people } = await owner.organization.call('GET', '/v5/members')
  expect(people.map(({ id }: { id: string }) => id)).toEqual([guest.userId])
  // Their address is found in no table, and is free again.
  expect(await findText(owner.email)).toEqual([])
  expect((await command(words)).errors).toContain('There is no person')
})

/** The tables that contain this text. */
async function findText(text: string): Promise<string[]> {
  const tables = await service.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await service.database.crossTenantQuery(
      'check the database',
      sql`select from ${identifier(name)} record where strpos(record::text, ${text}) > 0 limit 1`,
    )
    if (rows.length > 0) found.push(name)
  }
  return found
}
