import { execFile } from 'node:child_process'
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assertSecretMatches } from '../platform/secret/secret.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import { Authenticator } from '../../test/authenticator.ts'
import { createBackupFixture } from '../../test/backups.ts'
import { Browser } from '../../test/browser.ts'
import { entry, run, databaseUrlOf } from '../../test/command-line.ts'
import { query } from '../../test/data-directory.ts'
import {
  completeByRecoveryCode,
  completeByTotp,
  enrolApp,
  newPerson as newOwnerWithLogin,
} from '../../test/second-factors.ts'
import { type IdentityProvider, startIdentityProvider } from '../../test/identity-provider.ts'
import { mailOf, newPerson } from '../../test/mail-queue.ts'
import { subscribeElsewhere } from '../../test/push-receiver.ts'
import { callAs, loggedIn, logIn } from '../../test/people.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { storeRefusal } from '../../test/refused-pushes.ts'
import { startTestService, type TestService } from '../../test/service.ts'
import {
  logInAtProvider,
  linkIdentity,
  logInMember,
  newMember,
  createSsoFixture,
  readProfile,
} from '../../test/single-sign-on-fixture.ts'

// Runs "Replacing the secret" in docs/guides/self-hosting.md with every kind of value that SECRET protects.
const origin = 'https://crm.example.com'
let folder: string
let database: TestDatabase
let provider: IdentityProvider
/** The number of values that were encrypted again. */
let resealed = 0
let backups: Awaited<ReturnType<typeof createBackupFixture>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-replaced-'))
  database = await createDatabase()
  provider = await startIdentityProvider()
  backups = await createBackupFixture()
})
afterAll(async () => {
  await Promise.all([provider.close(), backups.close(), database.drop(), rm(folder, { recursive: true })])
})

const secretIn = async (name = 'secret'): Promise<string> => (await readFile(join(folder, name), 'utf8')).trim()

/** Starts a service on its own address for single sign-on, and one with a public address for passkeys. */
async function startBoth() {
  const secret = createSecretKey(Buffer.from(await secretIn(), 'hex'))
  const existing = { connection: database.connection, secret, drop: async () => undefined }
  const ssoService = await startTestService({ EGRESS_ALLOW: new URL(provider.issuer).host }, existing)
  const publicService = await startTestService({ PUBLIC_URL: origin }, existing)
  await assertSecretMatches(ssoService.database, secret)
  return {
    here: ssoService,
    open: publicService,
    close: () => Promise.all([ssoService.close(), publicService.close()]),
  }
}

/** The commands of the guide's third step, for the file of the data folder and for SECRET. */
const guide = readFileSync(fileURLToPath(new URL('../../../docs/guides/self-hosting.md', import.meta.url)), 'utf8')
const [, section = ''] = /^## Replacing the secret\n(.*?)^## /ms.exec(guide) ?? []
const [fileCommands = '', environmentCommands = ''] = [...section.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(
  ([, block]) => block,
)

/** Runs commands of the guide in the folder of this test. */
async function runDocumented(commands: string, environment: Record<string, string>): Promise<string> {
  expect(commands).toContain('node bin/rapport.js secret replace')
  const ssoService = commands.trim().replaceAll('node bin/rapport.js', `"${process.execPath}" "${entry}"`)
  const env = { PATH: process.env.PATH, DATABASE_DURABILITY: 'assumed', ...environment }
  return (await promisify(execFile)('bash', ['-ec', `${ssoService} --json`], { cwd: folder, env })).stdout
}

const encryptedColumnsSql = `select table_name as of, column_name as is from information_schema.columns
  where table_schema = 'public' and column_name ~ '_(sealed|encrypted)$'`

/** Reads every encrypted value in the database. */
async function readEncryptedValues(): Promise<{ column: string; value: string }[]> {
  const found: { column: string; value: string }[] = []
  for (const { of, is } of await query(database.connection, encryptedColumnsSql)) {
    const rows = await query(
      database.connection,
      `select encode("${is}", 'hex') as value from "${of}" where "${is}" is not null`,
    )
    found.push(...rows.map(({ value }) => ({ column: `${of}.${is}`, value: String(value) })))
  }
  return found
}

const addPasskey = async (person: Awaited<ReturnType<typeof newOwnerWithLogin>>, authenticator: Authenticator) => {
  const options = await person.call('POST', '/v5/me/passkeys/options')
  const credential = authenticator.create(options.body)
  const added = await person.call('POST', '/v5/me/passkeys', { body: { name: 'Laptop', credential } })
  expect(added.status, added.text).toBe(201)
}

/** Requests a password reset for a new member; returns the id of the stored mail. */
async function requestPasswordReset(service: TestService, organizationId: string): Promise<string> {
  const { email } = await newPerson(service, [decodeId('org', organizationId) ?? ''])
  await service.anonymous('POST', '/auth/forgot-password', { body: { email } })
  await until('the mail is kept', async () => (await mailOf(service, email)).status === 'kept')
  return encodeId('mai', (await mailOf(service, email)).id)
}

const contact = { body: { name: 'Ada Lovelace' }, headers: { 'idempotency-key': 'the-same-one' } }

test('after replacing the secret, every factor, connection, mail, key and password still works, and sessions have ended', async () => {
  await writeFile(join(folder, 'secret'), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 })
  const before = await startBoth()
  const totpOwner = await newOwnerWithLogin(before.open)
  const { app, recoveryCodes } = await enrolApp(totpOwner)
  const holder = await newOwnerWithLogin(before.open)
  const authenticator = new Authenticator(origin, { hasCounter: true })
  await addPasskey(holder, authenticator)
  const owner = await newOwnerWithLogin(before.open)
  const mailId = await requestPasswordReset(before.open, owner.organizationId)
  const fixture = await createSsoFixture(before.here, provider)
  const linked = await newMember(before.here, [fixture.organization.organizationId])
  provider.person = { sub: randomUUID() }
  await linkIdentity(fixture, await logInMember(before.here, linked))
  const { organization } = owner
  expect((await organization.call('POST', '/v5/contacts', contact)).status).toBe(201)
  const refused = await storeRefusal(before.open, organization, 'remains readable')
  const webhook = { url: 'https://example.com', events: ['*'], scopes: ['contact:list:read'], headers: { one: 'two' } }
  expect((await organization.call('POST', '/v5/webhooks', { body: webhook })).status).toBe(201)
  await subscribeElsewhere(owner.call)
  const keySet = (await before.open.anonymous('GET', '/.well-known/jwks.json')).body
  await before.close()
  const [old, encryptedBefore] = [await secretIn(), await readEncryptedValues()]
  const columns = (await query(database.connection, encryptedColumnsSql)).map(({ of, is }) => `${of}.${is}`)
  expect(columns.filter((name) => !encryptedBefore.some(({ column }) => column === name))).toEqual([])
  const environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder }
  expect(await run(['backup', backups.file('before')], { environment })).toMatchObject({ code: 0 })

  const { keptIn, ...counts } = JSON.parse(await runDocumented(fileCommands, environment))
  const reencrypted = encryptedBefore.filter(({ column }) => !column.startsWith('idempotency_answers.'))
  resealed = reencrypted.length
  expect(counts).toEqual({ resealed: reencrypted.length, endedSessions: expect.any(Number), deletedAnswers: 1 })
  expect(await secretIn()).not.toBe(old)
  expect((await readFile(keptIn, 'utf8')).trim()).toBe(old)
  for (const name of ['secret', keptIn.split('/').at(-1)])
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600)
  expect((await readdir(folder)).filter((name) => name.startsWith('secret')).length).toBe(2)
  const values = new Set(encryptedBefore.map(({ value }) => value))
  const encryptedAfter = await readEncryptedValues()
  expect(encryptedAfter).toHaveLength(reencrypted.length)
  expect(encryptedAfter.filter(({ value }) => values.has(value))).toEqual([])
  const denied = await run(['migrate'], { environment: { ...environment, SECRET: old } })
  expect(denied).toMatchObject({ code: 3, errors: expect.stringContaining('a different SECRET') })
  expect(await run(['migrate'], { environment })).toMatchObject({ code: 0 })

  const { here: ssoService, open: publicService, close } = await startBoth()
  // All sessions have ended.
  const sessions = await query(database.connection, `select ended_at is not null as ended from sessions`)
  expect(sessions).toHaveLength(counts.endedSessions)
  expect(sessions.every(({ ended }) => ended)).toBe(true)
  expect((await callAs(publicService, owner.accessToken)('GET', '/v5/me')).status).toBe(401)
  expect((await publicService.anonymous('POST', '/auth', { body: { token: owner.refreshToken } })).status).toBe(401)
  // Password, one-time code, recovery code, passkey and a login at the provider work.
  const { call } = await loggedIn(publicService, owner.email, owner.password)
  const beginLogin = async () => (await logIn(publicService, totpOwner.email, totpOwner.password)).body.pendingToken
  expect((await completeByTotp(publicService, await beginLogin(), app.code())).status).toBe(200)
  expect((await completeByRecoveryCode(publicService, await beginLogin(), recoveryCodes[0] ?? '')).status).toBe(200)
  const options = (await publicService.anonymous('POST', '/auth/passkeys/options')).body
  const byPasskey = await publicService.anonymous('POST', '/auth/passkeys', {
    body: { credential: authenticator.get(options) },
  })
  expect(byPasskey.body).toMatchObject({ status: 'complete', userId: holder.organization.userId })
  provider.register(`${ssoService.url}/auth/sso/callback/${fixture.connectionId}`)
  const browser = new Browser()
  const start = `${ssoService.url}/auth/sso/${fixture.connectionId}`
  expect((await logInAtProvider({ ...fixture, service: ssoService, start }, browser)).hash).toBe('#logged-in')
  expect((await readProfile(ssoService, browser)).me).toMatchObject({ email: linked.email })
  // The API key, the content of the mail and the key set work; a repeated request runs again.
  const byKey = callAs(publicService, organization.apiKey, { 'service-organization-id': owner.organizationId })
  expect((await byKey('GET', '/v5/contacts')).body).toHaveLength(1)
  expect((await byKey('GET', refused)).body.body).toContain('remains readable')
  const content = await call('GET', `/v5/mails/${mailId}/content`)
  expect(content.body.links, content.text).toHaveLength(1)
  expect((await publicService.anonymous('GET', '/.well-known/jwks.json')).body).toEqual(keySet)
  const repeatedCreate = await byKey('POST', '/v5/contacts', contact)
  expect([repeatedCreate.status, repeatedCreate.headers.get('idempotent-replayed')]).toEqual([201, null])
  await close()
}, 180_000)

test('an older backup is restored with the old secret, which is then replaced in an installation with SECRET', async () => {
  const [reencrypted = ''] = (await readdir(folder)).filter((name) => name.startsWith('secret.replaced-'))
  const old = await secretIn(reencrypted)
  const restored = await createEmptyDatabase()
  const restoredEnvironment = { DATABASE_URL: databaseUrlOf(restored), DATA_DIR: join(folder, 'other'), SECRET: old }
  expect(await run(['restore', backups.file('before')], { environment: restoredEnvironment })).toMatchObject({
    code: 0,
  })
  const file = join(folder, 'new-secret')
  expect(JSON.parse(await runDocumented(environmentCommands, restoredEnvironment))).toMatchObject({
    resealed,
    keptIn: null,
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await run(['migrate'], { environment: restoredEnvironment })).toMatchObject({ code: 3 })
  const SECRET = await readFile(file, 'utf8')
  expect(await run(['migrate'], { environment: { ...restoredEnvironment, SECRET } })).toMatchObject({ code: 0 })
  // Repeating the command, for example after a kill at its end, changes nothing.
  const repeated = await run(['secret', 'replace', '--new-file', file, '--json'], { environment: restoredEnvironment })
  expect(JSON.parse(repeated.output)).toEqual({ resealed: 0, endedSessions: 0, deletedAnswers: 0, keptIn: null })
  await restored.drop()
}, 180_000)
