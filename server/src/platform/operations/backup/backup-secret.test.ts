import { storeRefusal } from '../../../../test/refused-pushes.ts'
import { createSecretKey, randomBytes } from 'node:crypto'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../database/migrate.ts'
import { takeSnapshotFile } from './take.ts'
import { decodeId, encodeId } from '../../model/ids.ts'
import { migrationsFolder, version } from '../../../release.ts'
import { createBackupFixture } from '../../../../test/backups.ts'
import { query } from '../../../../test/data-directory.ts'
import { AuthenticatorApp, completeByRecoveryCode } from '../../../../test/second-factors.ts'
import { mailOf, newPerson } from '../../../../test/mail-queue.ts'
import { subscribeElsewhere } from '../../../../test/push-receiver.ts'
import { loggedIn, logIn, newOwner } from '../../../../test/people.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { serviceProcesses } from '../../../../test/service-process.ts'

let fixture: Awaited<ReturnType<typeof createBackupFixture>>
beforeAll(async () => {
  fixture = await createBackupFixture()
})
afterAll(() => fixture.close())

const startOn = ({ connection }: TestDatabase) =>
  startTestService(
    { PUBLIC_URL: 'https://crm.example.com' },
    { connection, secret: createSecretKey(randomBytes(32)), drop: async () => undefined },
  )

/** The number of values in each column that is encrypted with SECRET. */
async function encryptedValueCounts(connection: pg.ClientConfig): Promise<Record<string, number>> {
  const columns = await query(
    connection,
    `select table_name || '.' || column_name as name, table_name, column_name
      from information_schema.columns
      where table_schema = 'public' and column_name ~ '_(sealed|encrypted)$' order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name, table_name: table, column_name: column } of columns) {
    const [row] = await query(connection, `select count("${column}")::int as rows from "${table}"`)
    counts[String(name)] = Number(row?.['rows'])
  }
  return counts
}

/** Creates a member who requests a password reset, and waits until the mail is stored. */
async function requestPasswordReset(
  service: TestService,
  organizationId: string,
): Promise<{ email: string; mailId: string }> {
  const { email } = await newPerson(service, [decodeId('org', organizationId) ?? ''])
  await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  await until('the mail is stored', async () => (await mailOf(service, email)).status === 'kept')
  return { email, mailId: encodeId('mai', (await mailOf(service, email)).id) }
}

/** Creates a value in every encrypted column, in an organization with an owner. */
async function createSecretData(service: TestService) {
  const owner = await newOwner(service)
  const [storedMail, queuedMail] = [
    await requestPasswordReset(service, owner.organizationId),
    await requestPasswordReset(service, owner.organizationId),
  ]
  const connection = await owner.call('POST', '/v5/sso-connections', {
    body: { name: 'Any', issuer: 'https://id.example.com', clientId: 'any', clientSecret: 'of the provider' },
    headers: { 'idempotency-key': 'any' },
  })
  expect(connection.status, connection.text).toBe(201)
  const webhook = await owner.call('POST', '/v5/webhooks', {
    body: { url: 'https://example.com', events: ['*'], scopes: ['contact:list:read'], headers: { one: 'two' } },
  })
  expect(webhook.status, webhook.text).toBe(201)
  await subscribeElsewhere(owner.call)
  const refused = await storeRefusal(service, owner, 'is lost with the secret')
  const protectedOwner = await newOwner(service)
  const totp = await protectedOwner.call('POST', '/v5/me/totp')
  const app = new AuthenticatorApp(totp.body.uri)
  const { status, body } = await protectedOwner.call('POST', '/v5/me/totp/confirm', { body: { code: app.code() } })
  expect(status).toBe(200)
  const [recoveryCode = ''] = body.recoveryCodes
  return { owner, storedMail, queuedMail, connection, webhook, refused, protectedOwner, recoveryCode }
}

test('a restore with a new secret drops all values encrypted with the old one, and everything else keeps working', async () => {
  const [source, target] = await Promise.all([createDatabase(), createEmptyDatabase()])
  const before = await startOn(source)
  const { owner, storedMail, queuedMail, connection, webhook, refused, protectedOwner, recoveryCode } =
    await createSecretData(before)
  await before.close()
  // A mail that is composed but not sent yet.
  await query(
    source.connection,
    `update mails set status = 'queued', run_at = now(), ended_at = null
    where recipient = '${queuedMail.email}'`,
  )
  expect(Object.entries(await encryptedValueCounts(source.connection)).filter(([, rows]) => rows === 0)).toEqual([])
  const file = fixture.file('lost')
  await takeSnapshotFile(file, { connection: source.connection, migrationsFolder, version: version() })
  const restored = await fixture.restore(target, file, '--new-secret')
  expect(restored, restored.errors).toMatchObject({ code: 0 })
  expect(Object.entries(await encryptedValueCounts(target.connection)).filter(([, rows]) => rows > 0)).toEqual([])

  const service = await startOn(target)
  const { call } = await loggedIn(service, owner.email, owner.password)
  expect((await call('GET', refused)).body).toMatchObject({ code: 'invalid_parameters', body: null })
  const content = (mailId: string) => call('GET', `/v5/mails/${mailId}/content`)
  const lost = await content(storedMail.mailId)
  expect([lost.status, lost.text]).toEqual([404, expect.stringContaining('lost with the secret')])
  await until(
    'the queued mail is composed again',
    async () => (await mailOf(service, queuedMail.email)).status === 'kept',
  )
  const { status, body } = await content(queuedMail.mailId)
  expect(status).toBe(200)
  const token = new URL(body.links[0]).hash.split('=')[1]
  const password = 'harbour violin eleven'
  expect((await service.anonymous('POST', '/auth/reset-password', { body: { token, password } })).status).toBe(204)
  const one = await call('GET', `/v5/sso-connections/${connection.body.id}`)
  expect(one.body).toMatchObject({ hasClientSecret: false })
  expect(one.headers.get('etag')).not.toBe(connection.headers.get('etag'))
  const path = `/v5/webhooks/${webhook.body.id}`
  const lostWebhook = { status: 'disabled', statusReason: 'secret_lost', headerNames: [] }
  expect((await call('GET', path)).body).toMatchObject(lostWebhook)
  expect((await call('GET', '/v5/inbox/push-subscriptions')).body).toEqual([])
  await subscribeElsewhere(call)
  const first = await logIn(service, protectedOwner.email, protectedOwner.password)
  expect(first.body).toMatchObject({ status: 'second_factor_required', factors: ['recovery-code'] })
  expect((await completeByRecoveryCode(service, first.body.pendingToken, recoveryCode)).body.status).toBe('complete')
  await service.close()
  await Promise.all([source.drop(), target.drop()])
}, 120_000)

test('a backup of an older schema is restored with and without its secret', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-older-'))
  const [old, same, other] = await Promise.all([createEmptyDatabase(), createEmptyDatabase(), createEmptyDatabase()])
  try {
    const files = (await readdir(migrationsFolder)).filter((name) => name.endsWith('.sql')).sort()
    for (const name of files.slice(0, 3)) await cp(join(migrationsFolder, name), join(folder, name))
    await migrate(old.connection, { folder, log: () => undefined })
    const id = '00000000-0000-7000-8000-000000000001'
    await query(
      old.connection,
      `insert into users (id, email, email_key, name) values ('${id}', 'a@b.c', 'a@b.c', 'Any');
       insert into organizations (id, name, slug) values ('${id}', 'Acme', 'acme');
       insert into signing_keys (id, algorithm, public_jwk, private_key_encrypted, status) values ('any', 'ES256', '{}', '\\x00', 'active');
       insert into idempotency_answers (organization_id, credential_id, key_hash, request_hash, answer_encrypted)
         values ('${id}', '${id}', '\\x00', '\\x00', '\\x00');
       insert into instance (name, value) values ('secret_fingerprint', 'any');
       insert into sessions (id, user_id, organization_id, nonce, proved_at, expires_at)
         values ('${id}', '${id}', '${id}', '\\x00', now(), now() + interval '30 days');`,
    )
    const file = fixture.file('older')
    const taken = { connection: old.connection, migrationsFolder: folder, version: '0.0.9' }
    await takeSnapshotFile(file, taken)
    const forgotten = await fixture.restore(other, file, '--new-secret', '--json')
    expect(forgotten, forgotten.errors).toMatchObject({ code: 0 })
    expect(JSON.parse(forgotten.output)).toMatchObject({ applied: files.slice(3) })
    const left = `select (select count(*) from sessions) + (select count(*) from signing_keys)
      + (select count(*) from idempotency_answers) + (select count(*) from instance where name = 'secret_fingerprint') as rows`
    expect(await query(other.connection, left)).toEqual([{ rows: '0' }])

    await query(old.connection, 'delete from instance')
    await takeSnapshotFile(fixture.file('older-same'), taken)
    const restored = await fixture.restore(same, fixture.file('older-same'))
    expect(restored, restored.errors).toMatchObject({ code: 0 })
    expect(await query(same.connection, 'select id from sessions')).toEqual([{ id }])
  } finally {
    await Promise.all([old.drop(), same.drop(), other.drop(), rm(folder, { recursive: true })])
  }
}, 120_000)

test('what the first start creates does not prevent a restore, but a link sent to a person does', async () => {
  const [source, target] = await Promise.all([createDatabase(), createEmptyDatabase()])
  const file = fixture.file('empty')
  await takeSnapshotFile(file, { connection: source.connection, migrationsFolder, version: version() })
  const processes = await serviceProcesses(target)
  const service = await processes.start('rapport')
  service.signal('SIGTERM')
  await service.ended
  await processes.close()
  expect(await query(target.connection, 'select purpose from one_time_tokens')).toEqual([{ purpose: 'set-up' }])
  const restored = await fixture.restore(target, file)
  expect(restored, restored.errors).toMatchObject({ code: 0 })

  const link = `insert into one_time_tokens (hash, purpose, email, expires_at) values ('\\x00', 'sign-up', 'a@b.c', now())`
  await query(target.connection, link)
  const refused = await fixture.restore(target, file)
  expect(refused.code).toBe(2)
  expect(refused.errors).toMatch(/contains one time tokens\..*--force/)
  await Promise.all([source.drop(), target.drop()])
}, 120_000)
