import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { consumeOneTimeToken } from '../access/one-time-token-store.ts'
import { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { createTransport, type OutgoingMail, SendError, type Transport } from './transport.ts'
import { smtpServer } from './settings.ts'
import { createMailWorker, delayAfter, retryPolicy } from './worker.ts'
import { composer } from './compose.ts'
import { type Access, openAccess } from '../../../test/access.ts'
import { type ConnectionProxy, startConnectionProxy } from '../../../test/connection-proxy.ts'
import { type MailReceiver, startMailReceiver } from '../../../test/mail-receiver.ts'
import { makeDue, countValidTokens, mailOf, mailsOf, newPerson, enqueue } from '../../../test/mail-queue.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'

let access: Access
let receiver: MailReceiver
let cleanUps: (() => Promise<unknown>)[]
beforeEach(async () => {
  ;[access, receiver] = await Promise.all([openAccess(), startMailReceiver()])
  cleanUps = []
  logged = []
})
afterEach(async () => {
  await Promise.all(cleanUps.map((close) => close()))
  await Promise.all([access.close(), receiver.close()])
})

const realTransport = () => createTransport(smtpServer(receiver.url), { name: '', address: 'crm@example.com' })

let logged: string[]

/** Starts the mail worker of one process. */
function startProcess(transport: Transport = realTransport(), { database }: Pick<Access, 'database'> = access) {
  const { secret } = access
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
  const ready = Promise.resolve()
  return createMailWorker({
    database,
    secret,
    log,
    ready,
    transport,
    compose: composer({ findOrigin: async () => 'https://crm.example.com', defaultLanguage: 'en' }),
  })
}

/** Uses separate connections, so that the workers do not wait for each other. */
function startWithOwnConnections() {
  const database = access.anotherDatabase()
  const work = startProcess(undefined, { database })
  cleanUps.push(() => work.close().then(() => database.close()))
}

function startUntilTestEnds(transport?: Transport) {
  const work = startProcess(transport)
  cleanUps.push(() => work.close())
  return work
}

/** Starts a worker that stops before or after sending its first mail; returns that mail when it is reached. */
function startThenKill(after: 'nothing' | 'sending'): OutgoingMail[] {
  const reachedMails: OutgoingMail[] = []
  const real = realTransport()
  const work = startProcess({
    async send(mail) {
      if (after === 'sending') await real.send(mail)
      reachedMails.push(mail)
      // The worker takes no further mail and never finishes this one.
      void work.close()
      await new Promise(() => undefined)
    },
  })
  return reachedMails
}

interface InterruptibleDatabase extends Pick<Access, 'database'> {
  proxy: ConnectionProxy
  /** The same database through a connection that is never interrupted. */
  direct: Pick<Access, 'database'>
}

/** Creates a database whose connection the test can interrupt. */
async function createInterruptibleDatabase(): Promise<InterruptibleDatabase> {
  const testDatabase = await createDatabase()
  const proxy = await startConnectionProxy(testDatabase)
  const database = new Database({ connection: proxy.connection, size: 4 })
  const direct = new Database({ connection: testDatabase.connection, size: 2 })
  cleanUps.push(async () => {
    await Promise.all([database.close(), direct.close()])
    await proxy.close()
    await testDatabase.drop()
  })
  return { database, proxy, direct: { database: direct } }
}

/** Sends the mail and disconnects the database before the mail can be marked as sent. */
function transportThatDisconnects({ proxy }: InterruptibleDatabase): Transport {
  const real = realTransport()
  return {
    async send(mail) {
      await real.send(mail)
      proxy.goOffline()
    },
  }
}

/** Expires all leases, as time does after a process was killed. */
const expireLeases = () =>
  access.database.crossTenantQuery('check the database', sql`update mails set run_at = now() where lease is not null`)

const tokenInLink = (link = ''): string => new URL(link).hash.split('=')[1] ?? ''

const consumeToken = (token: string) =>
  access.database.crossTenantTransaction('check the database', (spanning) =>
    consumeOneTimeToken(spanning, 'reset-password', token),
  )

test('each mail is sent by one of several processes', async () => {
  const people = await Promise.all(Array.from({ length: 24 }, () => newPerson(access)))
  for (const { email } of people) await enqueue(access, { kind: 'reset-password', recipient: email })
  for (let count = 0; count < 3; count++) startWithOwnConnections()
  for (const { email } of people) await until('it is sent', async () => (await mailOf(access, email)).status === 'sent')
  expect(
    receiver
      .mails()
      .map(({ to: [address] }) => address)
      .sort(),
  ).toEqual(people.map(({ email }) => email).sort())
})

test('a mail whose process is killed after sending and before storing that is sent again as the same message', async () => {
  const { email } = await newPerson(access)
  const reachedMails = startThenKill('sending')
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('it was sent', () => reachedMails.length === 1)
  expect(await mailOf(access, email)).toMatchObject({ status: 'queued', isLeased: true })
  await expireLeases()
  startUntilTestEnds()
  await until('it is sent again', async () => (await mailOf(access, email)).status === 'sent')
  const [first, second, ...more] = receiver.mails()
  expect(more).toEqual([])
  expect(second).toMatchObject({ messageId: first?.messageId, text: first?.text, html: first?.html })
})

test('a mail that is sent while the database disconnects is marked as sent afterwards, and sent once', async () => {
  const interruptible = await createInterruptibleDatabase()
  const { email } = await newPerson(interruptible.direct)
  const work = startProcess(transportThatDisconnects(interruptible), interruptible)
  cleanUps.unshift(() => work.close())
  await enqueue(interruptible.direct, { kind: 'reset-password', recipient: email })
  await receiver.next()
  // The time that a restart of PostgreSQL may take.
  await delay(6000)
  interruptible.proxy.goOnline()
  await until('it is noted', async () => (await mailOf(interruptible.direct, email)).status === 'sent')
  expect(receiver.mails()).toHaveLength(1)
  expect((await mailOf(interruptible.direct, email)).attempts).toBe(1)
})

test('a stop does not wait for an unavailable database; it logs the mail that was sent but not marked', async () => {
  const interruptible = await createInterruptibleDatabase()
  const { email } = await newPerson(interruptible.direct)
  const work = startProcess(transportThatDisconnects(interruptible), interruptible)
  const id = await enqueue(interruptible.direct, { kind: 'reset-password', recipient: email })
  await receiver.next()
  const began = performance.now()
  await work.close()
  const elapsed = performance.now() - began
  expect(logged.filter((line) => line.includes('may be sent again'))).toEqual([
    expect.stringContaining(id.replaceAll('-', '')),
  ])
  expect(elapsed).toBeLessThan(5000)
  expect(await mailOf(interruptible.direct, email)).toMatchObject({ status: 'queued', isLeased: true })
})

test('a sent mail that cannot be marked as sent is not sent again', async () => {
  const { email } = await newPerson(access)
  const execute = <Row extends object>(statement: ReturnType<typeof sql>) =>
    access.database.crossTenantQuery<Row>('check the database', statement)
  await execute(sql`create sequence hindrances`)
  await execute(sql`create function hinder() returns trigger language plpgsql as $$
    begin perform nextval('hindrances'); raise 'not now'; end $$`)
  await execute(sql`create trigger hinder before update on mails for each row
    when (new.status = 'sent') execute function hinder()`)
  startUntilTestEnds()
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('it was hindered', async () => {
    const [row] = await execute<{ is_called: boolean }>(sql`select is_called from hindrances`)
    return row?.is_called === true
  })
  await execute(sql`drop function hinder() cascade`)
  await until('it is noted', async () => (await mailOf(access, email)).status === 'sent')
  expect(receiver.mails()).toHaveLength(1)
  expect(await mailOf(access, email)).toMatchObject({ attempts: 1, lastError: null })
})

test('a crash after composing leaves one valid token: that of the mail that is sent', async () => {
  const { id, email } = await newPerson(access)
  const reachedMails = startThenKill('nothing')
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('it was composed', () => reachedMails.length === 1)
  await expireLeases()
  startUntilTestEnds()
  const mail = await receiver.next()
  expect(await countValidTokens(access, { email, userId: id })).toBe(1)
  expect(mail.text).toBe(reachedMails[0]?.text)
  expect(await consumeToken(tokenInLink(mail.links[0]))).toMatchObject({ userId: id, email })
})

test('a mail that waited too long gets a new link, and the old link is invalid', async () => {
  const { id, email } = await newPerson(access)
  const sent: OutgoingMail[] = []
  const work = startUntilTestEnds({
    async send(mail) {
      sent.push(mail)
      if (sent.length === 1) throw new SendError('not now', { isFinal: false, detail: undefined })
    },
  })
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('an attempt failed', async () => (await mailOf(access, email)).lastError === 'not now')
  await access.database.crossTenantQuery(
    'check the database',
    sql`update mails set composed_at = composed_at - interval '16 minutes'`,
  )
  await makeDue(access)
  work.wake()
  await until('it is sent', async () => (await mailOf(access, email)).status === 'sent')
  const [first, second] = sent.map(({ text }) => tokenInLink(/https:\S+/.exec(text)?.[0]))
  expect(first).not.toBe(second)
  expect(sent[0]?.reference).not.toBe(sent[1]?.reference)
  expect(await consumeToken(first ?? '')).toBeUndefined()
  expect(await countValidTokens(access, { email, userId: id })).toBe(1)
  expect(await consumeToken(second ?? '')).toMatchObject({ userId: id })
})

test('a mail that is waiting when SMTP_URL is removed is stored for the owners with a new link', async () => {
  const { email } = await newPerson(access)
  await enqueue(access, { kind: 'reset-password', recipient: email })
  const composed: string[] = []
  const failingWorker = startProcess({
    async send({ text }) {
      composed.push(tokenInLink(/https:\S+/.exec(text)?.[0]))
      throw new SendError('the mail server could not be reached', { isFinal: false, detail: undefined })
    },
  })
  await until('it waits', async () => (await mailOf(access, email)).lastError !== null)
  await failingWorker.close()
  await makeDue(access)
  const { database, secret } = access
  const log = pino({ level: 'silent' })
  const compose = composer({ findOrigin: async () => 'https://crm.example.com', defaultLanguage: 'en' })
  const worker = createMailWorker({ database, secret, log, ready: Promise.resolve(), transport: undefined, compose })
  cleanUps.push(() => worker.close())
  await until('it is kept', async () => (await mailOf(access, email)).status === 'kept')
  expect(await mailOf(access, email)).toMatchObject({ isSealed: true })
  expect(await consumeToken(composed[0] ?? '')).toBeUndefined()
})

test('a process that lost its lease on a mail to another changes nothing', async () => {
  const { email } = await newPerson(access)
  let release: () => void = () => undefined
  const blocker = new Promise<void>((resolve) => (release = resolve))
  const blockedMails: OutgoingMail[] = []
  const work = startProcess({
    async send(mail) {
      blockedMails.push(mail)
      await blocker
      throw new SendError('too late', { isFinal: true, detail: undefined })
    },
  })
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('the slow one has it', () => blockedMails.length === 1)
  const closed = work.close()
  await expireLeases()
  startUntilTestEnds()
  await until('the other one has sent it', async () => (await mailOf(access, email)).status === 'sent')
  const before = await mailOf(access, email)
  release()
  await closed
  expect(await mailOf(access, email)).toEqual(before)
})

test('a mail that no process ever finished fails after the last attempt', async () => {
  const { email } = await newPerson(access)
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await access.database.crossTenantQuery('check the database', sql`update mails set attempts = ${retryPolicy.attempts}`)
  startUntilTestEnds()
  await until('it failed', async () => (await mailOf(access, email)).status === 'failed')
  expect(receiver.mails()).toEqual([])
  expect(await countValidTokens(access, { email })).toBe(0)
})

test('the delays double up to the longest and add up to about a day', () => {
  const delays = Array.from({ length: retryPolicy.attempts }, (_, index) => delayAfter(index + 1))
  expect(delays.slice(0, 3)).toEqual([30, 60, 120])
  expect(delays.at(-1)).toBeUndefined()
  const total = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)
  expect(total / 3600).toBeGreaterThan(20)
  expect(total / 3600).toBeLessThan(28)
})

test('a stop waits for the mail in progress and takes no further one', async () => {
  const { email } = await newPerson(access)
  let release: () => void = () => undefined
  const blocker = new Promise<void>((resolve) => (release = resolve))
  let startedCount = 0
  const work = startProcess({
    async send() {
      startedCount++
      await blocker
    },
  })
  await enqueue(access, { kind: 'reset-password', recipient: email })
  await until('it is under way', () => startedCount === 1)
  const closed = work.close()
  const { email: later } = await newPerson(access)
  await enqueue(access, { kind: 'reset-password', recipient: later })
  release()
  await closed
  expect((await mailOf(access, email)).status).toBe('sent')
  expect(await mailsOf(access, later)).toMatchObject([{ status: 'queued', attempts: 0 }])
})
