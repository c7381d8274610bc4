import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { type MailReceiver, type ReceiverOptions, startMailReceiver } from '../../../test/mail-receiver.ts'
import { makeDue, mailOf, newPerson, enqueue } from '../../../test/mail-queue.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { serviceProcesses } from '../../../test/service-process.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of cleanUps.splice(0).reverse()) await close()
})

async function startReceiver(options: ReceiverOptions = {}): Promise<MailReceiver> {
  const receiver = await startMailReceiver(options)
  cleanUps.push(() => receiver.close())
  return receiver
}

async function startService(smtpUrl: string, more: Record<string, string> = {}): Promise<TestService> {
  const service = await startTestService({ SMTP_URL: smtpUrl, MAIL_FROM: 'crm@example.com', ...more })
  cleanUps.push(() => service.close())
  return service
}

/** Queues a mail to a new person; returns the address. */
async function queueNotice(service: Pick<TestService, 'database'>): Promise<string> {
  const { id, email } = await newPerson(service)
  await enqueue(service, {
    kind: 'account-changed',
    recipient: email,
    userId: id,
    facts: { what: 'password-changed' },
  })
  return email
}

const login = { user: 'rap port@example', password: 'p@ss: wörd/%' }
const credentials = `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}`
const withLogin = (url: string, given = credentials): string => url.replace('://', `://${given}@`)

const waitForStatus = async (service: TestService, email: string, status: string) =>
  until(`the mail is ${status}`, async () => (await mailOf(service, email)).status === status)

/** Waits until an attempt has failed and the mail waits for the next one. */
const waitForFailedAttempt = async (service: TestService, email: string, attempts = 1) =>
  until('an attempt failed', async () => {
    const row = await mailOf(service, email)
    return row.attempts === attempts && row.lastError !== null && !row.isLeased
  })

test('a percent-encoded user and password in SMTP_URL are decoded before they are sent', async () => {
  const receiver = await startReceiver({ login })
  const service = await startService(withLogin(receiver.url))
  const email = await queueNotice(service)
  expect(await receiver.next()).toMatchObject({ to: [email], user: login.user, isEncrypted: false })
  await waitForStatus(service, email, 'sent')
})

test('STARTTLS is used when the server offers it, before the password is sent', async () => {
  const receiver = await startReceiver({ login, encryption: 'offered' })
  const service = await startService(withLogin(receiver.url))
  await queueNotice(service)
  expect(await receiver.next()).toMatchObject({ user: login.user, isEncrypted: true })
})

const ownAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

test.skipIf(ownAddress === undefined)(
  'a remote server without STARTTLS or with an untrusted certificate gets neither the password nor a mail',
  async () => {
    for (const encryption of ['never', 'offered'] as const) {
      const receiver = await startReceiver({ login, encryption, host: ownAddress ?? '' })
      const service = await startService(withLogin(receiver.url))
      const email = await queueNotice(service)
      await waitForFailedAttempt(service, email)
      expect((await mailOf(service, email)).lastError).toMatch(/could not be (?:encrypted|reached)/)
      expect(receiver.connections()).toBeGreaterThan(0)
      expect(receiver.mails()).toEqual([])
      expect(receiver.logins()).toEqual([])
    }
  },
)

test.skipIf(ownAddress === undefined)(
  'without a password, a remote server still gets no unencrypted mail unless PLAINTEXT_HOSTS names it',
  async () => {
    const receiver = await startReceiver({ host: ownAddress ?? '' })
    const service = await startService(receiver.url)
    const email = await queueNotice(service)
    await waitForFailedAttempt(service, email)
    expect((await mailOf(service, email)).lastError).toMatch(/could not be encrypted/)
    expect(receiver.mails()).toEqual([])
    const allowedService = await startService(receiver.url, { PLAINTEXT_HOSTS: ownAddress ?? '' })
    const other = await queueNotice(allowedService)
    expect(await receiver.next()).toMatchObject({ to: [other], isEncrypted: false })
  },
)

test('smtps:// is encrypted from the first byte and rejects an untrusted certificate, even on loopback', async () => {
  const receiver = await startReceiver({ login, encryption: 'always' })
  const service = await startService(withLogin(receiver.url))
  const email = await queueNotice(service)
  await waitForFailedAttempt(service, email)
  expect(receiver.mails()).toEqual([])
  expect(receiver.logins()).toEqual([])
})

test('a private certificate authority is trusted through NODE_EXTRA_CA_CERTS', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-mail-'))
  cleanUps.push(() => rm(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert],
  ])
  const certificate = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  const receiver = await startReceiver({ login, encryption: 'always', certificate })
  const database = await createDatabase()
  const processes = await serviceProcesses(database)
  cleanUps.push(() => processes.close())
  const service = await processes.start('mail', {
    SMTP_URL: withLogin(receiver.url).replace('127.0.0.1', 'localhost'),
    MAIL_FROM: 'crm@example.com',
    SIGN_UP: 'open',
    NODE_EXTRA_CA_CERTS: cert,
  })
  const email = `${randomUUID()}@example.com`
  const signUp = await fetch(`${service.url}/auth/sign-up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email }),
  })
  expect(signUp.status).toBe(202)
  expect(await receiver.next()).toMatchObject({ to: [email], user: login.user, isEncrypted: true })
})

test('a rejected SMTP login is reported in the log and in the mail record without the password, and is retried', async () => {
  const receiver = await startReceiver({ login })
  const service = await startService(withLogin(receiver.url, 'rapport:not-the-password'))
  const email = await queueNotice(service)
  await waitForFailedAttempt(service, email)
  const row = await mailOf(service, email)
  expect(row).toMatchObject({ status: 'queued', lastError: 'the mail server rejected the login (535)', isSealed: true })
  expect(row.waits).toBeGreaterThan(20)
  expect(row.waits).toBeLessThan(40)
  // It is logged after it is stored.
  const logLines = () => service.logged.filter((line) => line.includes('mail: not sent yet'))
  await until('it is logged', () => logLines().length > 0)
  expect(logLines()).toEqual([expect.stringContaining('EAUTH')])
  expect(service.logged.join('')).not.toContain('not-the-password')
})

test('a permanently rejected recipient fails at once, and the server’s text is not stored or logged', async () => {
  const receiver = await startReceiver({ refuseRecipient: () => 550 })
  const service = await startService(receiver.url)
  const email = await queueNotice(service)
  await waitForStatus(service, email, 'failed')
  expect(await mailOf(service, email)).toMatchObject({
    attempts: 1,
    lastError: 'the mail server rejected the recipient (550)',
  })
  const logLines = () => service.logged.filter((line) => line.includes('will not be retried'))
  await until('it is logged', () => logLines().length > 0)
  expect(logLines()).toHaveLength(1)
})

test('a mail that the server rejects after the data fails, and its content appears neither in the log nor in the record', async () => {
  const quoted: string[] = []
  const receiver = await startReceiver({
    refuseMail: ({ links }) => {
      quoted.push(...links)
      return 554
    },
  })
  const service = await startService(receiver.url)
  const { email } = await newPerson(service)
  await enqueue(service, { kind: 'reset-password', recipient: email })
  await waitForStatus(service, email, 'failed')
  expect((await mailOf(service, email)).lastError).toBe('the mail server rejected the mail (554)')
  await until('it is logged', () => service.logged.some((line) => line.includes('will not be retried')))
  const token = /ott_[\w-]+/.exec(quoted[0] ?? '')?.[0] ?? ''
  expect(token).toHaveLength(47)
  expect(service.logged.join('')).not.toContain(token)
})

test('a temporary rejection is retried after increasing delays, and the mail is delivered once', async () => {
  let remainingRejections = 2
  const receiver = await startReceiver({ refuseRecipient: () => (remainingRejections-- > 0 ? 451 : undefined) })
  const service = await startService(receiver.url)
  const email = await queueNotice(service)
  await waitForFailedAttempt(service, email)
  expect(await mailOf(service, email)).toMatchObject({
    status: 'queued',
    lastError: 'the mail server rejected the recipient (451)',
  })
  await makeDue(service)
  await waitForFailedAttempt(service, email, 2)
  const { waits } = await mailOf(service, email)
  expect(waits).toBeGreaterThan(40)
  expect(waits).toBeLessThan(80)
  await makeDue(service)
  await waitForStatus(service, email, 'sent')
  expect(receiver.mails()).toHaveLength(1)
  expect(await mailOf(service, email)).toMatchObject({ attempts: 3, lastError: null })
})

test('mails wait while the mail server is unreachable and are sent when it is back', async () => {
  const closedReceiver = await startMailReceiver()
  await closedReceiver.close()
  const service = await startService(closedReceiver.url)
  const email = await queueNotice(service)
  await waitForFailedAttempt(service, email)
  expect((await mailOf(service, email)).lastError).toBe('the mail server could not be reached')
  const receiver = await startReceiver({ port: closedReceiver.port })
  await makeDue(service)
  expect((await receiver.next()).to).toEqual([email])
  await waitForStatus(service, email, 'sent')
})
