import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandActor } from '../src/platform/access/command-actor.ts'
import { CredentialChanged, Database, type Transaction } from '../src/platform/database/database.ts'
import { prepared, raw, sql } from '../src/platform/database/sql.ts'
import { readId } from '../src/platform/resource/ids.ts'
import { contactStore } from '../src/resources/contacts/store.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { startTestService, type TestService } from './service.ts'

let made: TestDatabase
let service: TestService
let database: Database
/** The same with two connections. */
let pair: Database
/** What is sent, each write of a connection by itself. */
const writes: string[] = []
/** The next transaction loses its connection as it begins. */
let isCut = false
let organizationId: string
let userId: string

beforeAll(async () => {
  made = await createDatabase()
  service = await startTestService({}, made)
  const organization = await service.newOrganization()
  organizationId = readId('org', organization.organizationId) ?? ''
  userId = readId('usr', organization.userId) ?? ''
  class WatchedClient extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super(config)
      const { stream } = this.connection
      const send = stream._writev?.bind(stream)
      stream._writev = (chunks, callback) => {
        const written = chunks.map(({ chunk }) => String(chunk)).join('')
        writes.push(written)
        if (isCut && written.includes('begin')) {
          isCut = false
          stream.destroy()
        } else send?.(chunks, callback)
      }
    }
  }
  const connection = { ...made.connection, Client: WatchedClient } as pg.ClientConfig
  database = new Database({ connection, size: 1 })
  pair = new Database({ connection, size: 2 })
})
afterAll(async () => {
  await Promise.all([database.close(), pair.close()])
  await service.close()
})

const actor = (live = 'true') => ({ ...commandActor(organizationId, userId), live: raw(live) })

const makeContact = (transaction: Transaction, values: Record<string, string>) =>
  contactStore.write(transaction, [{ kind: 'create', values }])

async function countContacts(): Promise<number> {
  const [row] = await database
    .reader(actor())
    .query<{ count: number }>(
      sql`select count(*)::integer as count from contacts where organization_id = ${database.reader(actor()).organization}`,
    )
  return row?.count ?? Number.NaN
}

test('what a transaction of a credential that no longer holds does is undone, and it learns nothing', async () => {
  const before = await countContacts()
  const learned: unknown[] = []
  const work = async (transaction: Transaction) => {
    learned.push(await makeContact(transaction, { email: 'revoked@example.com' }))
  }
  await expect(database.transaction(actor('false'), work)).rejects.toThrow(CredentialChanged)
  expect(learned).toEqual([])
  expect(await countContacts()).toBe(before)
})

test('a credential that no longer holds is told before anything that is wrong with the request', async () => {
  const wrong = () => Promise.reject(new Error('the body is wrong'))
  await expect(database.transaction(actor('false'), wrong)).rejects.toThrow(CredentialChanged)
  await expect(database.transaction(actor(), wrong)).rejects.toThrow('the body is wrong')
  const nothing = () => Promise.resolve('done')
  await expect(database.transaction(actor('false'), nothing)).rejects.toThrow(CredentialChanged)
  expect(await database.transaction(actor(), nothing)).toBe('done')
})

test('a check that fails is what the transaction fails with, and the connection is good for the next one', async () => {
  const before = await countContacts()
  const failing = database.transaction(actor('1 / (select 0) = 1'), (transaction) =>
    makeContact(transaction, { email: 'never@example.com' }),
  )
  await expect(failing).rejects.toThrow(/division by zero/)
  expect(await countContacts()).toBe(before)
  await database.transaction(actor(), (transaction) => makeContact(transaction, { email: 'next@example.com' }))
  expect(await countContacts()).toBe(before + 1)
})

test('a transaction begins in one write with its check and its first statements', async () => {
  const work = (transaction: Transaction) => makeContact(transaction, { email: 'one@example.com' })
  await database.transaction(actor(), work)
  writes.length = 0
  await database.transaction(actor(), (transaction) => makeContact(transaction, { email: 'two@example.com' }))
  // The check, the person and the team go with the beginning; the contact refers to both.
  expect(writes).toHaveLength(2)
  expect(writes[0]).toMatch(/begin/)
  expect(writes[1]).toContain('two@example.com')
})

test('a contact is written by one statement that is prepared once, whichever fields it has', async () => {
  const given = [
    { email: 'a@example.com', firstName: 'Ada' },
    { name: 'Grace Hopper', city: 'Arlington', timeZone: 'America/New_York' },
    { email: 'c@example.com', phone: '+4930123456', website: 'https://c.example.com' },
  ]
  for (const values of given) await database.transaction(actor(), (transaction) => makeContact(transaction, values))
  const known = await database.transaction(actor(), (transaction) =>
    transaction.query<{ statement: string }>(
      sql`select statement from pg_prepared_statements
        where statement like '%insert into "contacts"%' and ${transaction.organization} is not null`,
    ),
  )
  // With an address, and without one.
  expect(known.length).toBeGreaterThan(0)
  expect(known.length).toBeLessThanOrEqual(2)
})

test('what is prepared serves other values', async () => {
  const ask = (value: number) =>
    database.transaction(actor(), (transaction) =>
      transaction.query<{ twice: number }>(
        prepared(sql`select ${value}::integer * 2 as twice, ${transaction.organization} as organization`),
      ),
    )
  const answers = []
  for (let value = 1; value <= 8; value++) answers.push((await ask(value))[0]?.twice)
  expect(answers).toEqual([2, 4, 6, 8, 10, 12, 14, 16])
})

test('of statements that were sent together the one that failed says why, not those behind it', async () => {
  const work = (transaction: Transaction) => {
    const ask = (value: number) =>
      transaction.query(sql`select 1 / ${value}::integer as quotient, ${transaction.organization} as organization`)
    // Whoever waits for the one behind the failure is told sooner.
    return Promise.all([ask(0).finally(() => delay(20)), ask(1)])
  }
  await expect(database.transaction(actor(), work)).rejects.toThrow(/division by zero/)
})

test('a transaction within one that lost its connection is undone, and both are made once when it is repeated', async () => {
  const before = await countContacts()
  isCut = true
  await pair.transaction(actor(), (outer) =>
    pair.transaction(actor(), async (inner) => {
      await makeContact(inner, { name: 'Once Only' })
      await outer.query(sql`select ${outer.organization} as organization`)
    }),
  )
  expect(isCut).toBe(false)
  // Each connection has had another user since.
  await Promise.all([1, 2].map(() => pair.transaction(actor(), () => Promise.resolve())))
  expect(await countContacts()).toBe(before + 1)
})
