import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { serviceActor } from '../model/caller.ts'
import { Database, type Transaction } from './database.ts'
import { CredentialChanged } from './failures.ts'
import { prepared, raw, sql } from '../model/sql.ts'
import { decodeId } from '../model/ids.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { watchedClient } from '../../../test/watched-client.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let testDatabase: TestDatabase
let service: TestService
let database: Database
/** A pool of two connections. */
let twoConnections: Database
/** The data of each write to a connection. */
const writes: string[] = []
/** Whether the next transaction loses its connection at `begin`. */
let isNextCut = false
let organizationId: string
let userId: string

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, testDatabase)
  const organization = await service.newOrganization()
  organizationId = decodeId('org', organization.organizationId) ?? ''
  userId = decodeId('usr', organization.userId) ?? ''
  const Client = watchedClient((written, stream) => {
    writes.push(written)
    if (!isNextCut || !written.includes('begin')) return true
    isNextCut = false
    stream.destroy()
    return false
  })
  const connection = { ...testDatabase.connection, Client } as pg.ClientConfig
  database = new Database({ connection, size: 1 })
  twoConnections = new Database({ connection, size: 2 })
})
afterAll(async () => {
  await Promise.all([database.close(), twoConnections.close()])
  await service.close()
})

const actor = (live = 'true') => ({ ...serviceActor('command', organizationId, userId), live: raw(live) })

const createContact = (transaction: Transaction, values: Record<string, string>) =>
  contactStore.write(transaction, [{ kind: 'create', values }])

async function countContacts(): Promise<number> {
  const [row] = await database
    .reader(actor())
    .query<{ count: number }>(
      sql`select count(*)::integer as count from contacts where organization_id = ${database.reader(actor()).organization}`,
    )
  return row?.count ?? Number.NaN
}

test('a transaction with a revoked credential is rolled back and returns no data', async () => {
  const before = await countContacts()
  const results: unknown[] = []
  const work = async (transaction: Transaction) => {
    results.push(await createContact(transaction, { email: 'revoked@example.com' }))
  }
  await expect(database.transaction(actor('false'), work)).rejects.toThrow(CredentialChanged)
  expect(results).toEqual([])
  expect(await countContacts()).toBe(before)
})

test('a revoked credential is reported before any other error of the request', async () => {
  const rejectingWork = () => Promise.reject(new Error('the body is wrong'))
  await expect(database.transaction(actor('false'), rejectingWork)).rejects.toThrow(CredentialChanged)
  await expect(database.transaction(actor(), rejectingWork)).rejects.toThrow('the body is wrong')
  const emptyWork = () => Promise.resolve('done')
  await expect(database.transaction(actor('false'), emptyWork)).rejects.toThrow(CredentialChanged)
  expect(await database.transaction(actor(), emptyWork)).toBe('done')
})

test('an error in the credential check fails the transaction, and the connection can be used again', async () => {
  const before = await countContacts()
  const failing = database.transaction(actor('1 / (select 0) = 1'), (transaction) =>
    createContact(transaction, { email: 'never@example.com' }),
  )
  await expect(failing).rejects.toThrow(/division by zero/)
  expect(await countContacts()).toBe(before)
  await database.transaction(actor(), (transaction) => createContact(transaction, { email: 'next@example.com' }))
  expect(await countContacts()).toBe(before + 1)
})

test('a create takes three writes: begin with all that it refers to, the contact, and commit', async () => {
  const work = (transaction: Transaction) => createContact(transaction, { email: 'one@example.com' })
  await database.transaction(actor(), work)
  writes.length = 0
  await database.transaction(actor(), (transaction) => createContact(transaction, { email: 'two@example.com' }))
  expect(writes).toEqual([
    expect.stringMatching(/begin.*two@example\.com/s),
    expect.stringContaining('two@example.com'),
    expect.stringContaining('commit'),
  ])
})

test('a write that ends its transaction is committed in the same write', async () => {
  writes.length = 0
  await database.transaction(actor(), (transaction) => {
    const change = { kind: 'create', values: { email: 'three@example.com', teamId: null } } as const
    return contactStore.write(transaction, [change, { ...change, values: { email: 'four@example.com' } }], {
      isSoleOperation: true,
    })
  })
  expect(writes).toEqual([
    expect.stringMatching(/begin.*four@example\.com/s),
    expect.stringMatching(/four@example\.com.*commit/s),
  ])
})

test('a commit is not sent before the credential is known to be valid', async () => {
  const before = await countContacts()
  const work = async (transaction: Transaction) => {
    transaction.send(sql`update contacts set bio = 'seen' where organization_id = ${transaction.organization}`)
    transaction.finish()
  }
  writes.length = 0
  await expect(database.transaction(actor('false'), work)).rejects.toThrow(CredentialChanged)
  expect(writes.filter((text) => text.includes('commit'))).toEqual([])
  const [changed] = await database.reader(actor()).query<{ count: number }>(sql`
    select count(*)::integer as count from contacts
    where organization_id = ${database.reader(actor()).organization} and bio = 'seen'`)
  expect([changed?.count, await countContacts()]).toEqual([0, before])
})

test('a statement that nobody waits for fails the transaction, and leaves a connection that can be used', async () => {
  const before = await countContacts()
  const work = (failing: (transaction: Transaction) => void) => async (transaction: Transaction) => {
    await createContact(transaction, { email: 'failed@example.com' })
    failing(transaction)
    transaction.finish()
  }
  const divide = (transaction: Transaction) =>
    transaction.send(sql`select 1 / 0 from (select ${transaction.organization}) one`)
  await expect(database.transaction(actor(), work(divide))).rejects.toThrow(/division by zero/)
  const explained = (transaction: Transaction) =>
    transaction.send(sql`select 1 / 0 from (select ${transaction.organization}) one`, () => new Error('explained'))
  await expect(database.transaction(actor(), work(explained))).rejects.toThrow('explained')
  expect(await countContacts()).toBe(before)
})

test('nothing can be sent after the commit', async () => {
  const work = async (transaction: Transaction) => {
    await createContact(transaction, { email: 'last@example.com' })
    transaction.finish()
    transaction.send(sql`select ${transaction.organization}`)
  }
  await expect(database.transaction(actor(), work)).rejects.toThrow('the transaction is over')
})

test('contacts with any set of fields are written by the same prepared statement', async () => {
  const contactValues = [
    { email: 'a@example.com', firstName: 'Ada' },
    { name: 'Grace Hopper', city: 'Arlington', timeZone: 'America/New_York' },
    { email: 'c@example.com', phone: '+4930123456', website: 'https://c.example.com' },
  ]
  for (const values of contactValues)
    await database.transaction(actor(), (transaction) => createContact(transaction, values))
  const preparedStatements = await database.transaction(actor(), (transaction) =>
    transaction.query<{ statement: string }>(
      sql`select statement from pg_prepared_statements
        where statement like '%insert into "contacts"%' and ${transaction.organization} is not null`,
    ),
  )
  // One statement for contacts with an address, one for contacts without.
  expect(preparedStatements.length).toBeGreaterThan(0)
  expect(preparedStatements.length).toBeLessThanOrEqual(2)
})

test('a prepared statement works with other values', async () => {
  const select = (value: number) =>
    database.transaction(actor(), (transaction) =>
      transaction.query<{ twice: number }>(
        prepared(sql`select ${value}::integer * 2 as twice, ${transaction.organization} as organization`),
      ),
    )
  const answers = []
  for (let value = 1; value <= 8; value++) answers.push((await select(value))[0]?.twice)
  expect(answers).toEqual([2, 4, 6, 8, 10, 12, 14, 16])
})

test('of statements that are sent together, the first failure is reported, not the ones it causes', async () => {
  const work = (transaction: Transaction) => {
    const select = (value: number) =>
      transaction.query(sql`select 1 / ${value}::integer as quotient, ${transaction.organization} as organization`)
    // The second statement is rejected before the first one.
    return Promise.all([select(0).finally(() => delay(20)), select(1)])
  }
  await expect(database.transaction(actor(), work)).rejects.toThrow(/division by zero/)
})

test('when the outer transaction loses its connection, the inner one is rolled back and both are repeated once', async () => {
  const before = await countContacts()
  isNextCut = true
  await twoConnections.transaction(actor(), (outer) =>
    twoConnections.transaction(actor(), async (inner) => {
      await createContact(inner, { name: 'Once Only' })
      await outer.query(sql`select ${outer.organization} as organization`)
    }),
  )
  expect(isNextCut).toBe(false)
  // Afterwards another transaction has used each connection.
  await Promise.all([1, 2].map(() => twoConnections.transaction(actor(), () => Promise.resolve())))
  expect(await countContacts()).toBe(before + 1)
})

const divide = (transaction: Transaction, value: number) =>
  transaction.query<{ quotient: number }>(
    sql`select 1 / ${value}::integer as quotient, ${transaction.organization} as organization`,
  )

test('of statements that are sent together, every rejection has the error of the first failure', async () => {
  const work = async (transaction: Transaction) => {
    const selectAgain = () =>
      transaction.query(prepared(sql`select ${7}::integer as first_time, ${transaction.organization} as organization`))
    const messageOf = (pending: Promise<unknown>) => pending.catch((error: Error) => error.message)
    throw new Error(
      JSON.stringify(await Promise.all([divide(transaction, 0), selectAgain(), selectAgain()].map(messageOf))),
    )
  }
  const cause = 'division by zero'
  await expect(database.transaction(actor(), work)).rejects.toThrow(JSON.stringify([cause, cause, cause]))
})

test('a transaction fails with the error of its failed statement, even if the work ignores that error', async () => {
  const before = await countContacts()
  const work = async (transaction: Transaction) => {
    await createContact(transaction, { email: 'swallowed@example.com' })
    await divide(transaction, 0).catch(() => undefined)
    return 'done'
  }
  await expect(database.transaction(actor(), work)).rejects.toThrow('division by zero')
  const unawaited = async (transaction: Transaction) => void divide(transaction, 0).catch(() => undefined)
  await expect(database.transaction(actor(), unawaited)).rejects.toThrow('division by zero')
  expect(await countContacts()).toBe(before)
  expect(await database.transaction(actor(), () => Promise.resolve('done'))).toBe('done')
})

test('a revoked credential is also reported before an error that the work throws synchronously', async () => {
  const rejectingWork = () => {
    throw new Error('the body is wrong')
  }
  await expect(database.transaction(actor('false'), rejectingWork)).rejects.toThrow(CredentialChanged)
  await expect(database.transaction(actor(), rejectingWork)).rejects.toThrow('the body is wrong')
})

test('a revoked credential is rejected at once while the work waits for a lock, and nothing is stored', async () => {
  const [contact] = await database.transaction(actor(), (transaction) =>
    createContact(transaction, { name: 'Ada', city: 'Before' }),
  )
  const id = contact?.id ?? ''
  const lockHolder = new pg.Client(testDatabase.connection)
  await lockHolder.connect()
  await lockHolder.query('begin')
  await lockHolder.query('select from contacts where id = $1 for update', [id])
  const refused = database.transaction(actor('false'), (transaction) =>
    contactStore.write(transaction, [{ kind: 'update', id, values: { city: 'After' } }]),
  )
  await expect(refused).rejects.toThrow(CredentialChanged)
  // The pool replaces its only connection.
  await database.ping()
  const blocked = `select from pg_stat_activity where datname = current_database() and query like '%for update of record%'
    and state <> 'idle' and pid <> pg_backend_pid()`
  // At once: the work still waits.
  expect((await lockHolder.query(blocked)).rowCount).toBe(1)
  await lockHolder.query('rollback')
  await until('the work has ended', async () => (await lockHolder.query(blocked)).rowCount === 0)
  expect((await lockHolder.query('select city from contacts where id = $1', [id])).rows).toEqual([{ city: 'Before' }])
  await lockHolder.end()
})

test('a prepared statement that the server has deallocated is prepared again, and the work is done once', async () => {
  const select = (transaction: Transaction) =>
    transaction.query<{ value: number }>(
      prepared(sql`select ${1}::integer as value, ${transaction.organization} as organization`),
    )
  const deallocateAll = () => database.crossTenantQuery('check the database', sql`deallocate all`)
  const read = () => database.crossTenantQuery<{ value: number }>('check the database', sql`select 2 as value`, 'two')
  await Promise.all([database.transaction(actor(), select), read()])
  await deallocateAll()
  expect(await database.transaction(actor(), select)).toMatchObject([{ value: 1 }])
  await read()
  await deallocateAll()
  expect(await read()).toEqual([{ value: 2 }])

  await database.crossTenantQuery('check the database', sql`create table kept as select 1 as value`)
  let attempts = 0
  await database.crossTenantTransaction('check the database', async ({ query }) => {
    const double = prepared(sql`insert into kept select value * ${2}::integer from kept`)
    if (++attempts > 1) return query(double)
    await query(double)
    await query(sql`deallocate all`)
    return query(double).catch(() => Promise.reject(new Error('another message')))
  })
  expect(attempts).toBe(2)
  expect(await database.crossTenantQuery('check the database', sql`select value from kept`)).toEqual([
    { value: 1 },
    { value: 2 },
  ])
})

test('a statement name that the server uses for another statement moves the query to a new connection', async () => {
  await database.crossTenantQuery('check the database', sql`prepare three as select 4 as value`)
  const read = database.crossTenantQuery<{ value: number }>('check the database', sql`select 3 as value`, 'three')
  expect(await read).toEqual([{ value: 3 }])
})

test('a migration that changes the result of a prepared statement fails no request on any connection', async () => {
  const size = 6
  const manyConnections = new Database({ connection: testDatabase.connection, size })
  const change = (statement: string) => manyConnections.crossTenantQuery('check the database', raw(statement))
  const select = (transaction: Transaction) =>
    transaction.query(prepared(sql`select migrated.*, ${transaction.organization} as organization from migrated`))
  await change('create table migrated as select 1 as one')
  let selected = 0
  const together = Array.from({ length: size }, () =>
    manyConnections.transaction(actor(), async (transaction) => {
      await select(transaction)
      selected += 1
      await until('every connection has prepared it', () => selected >= size)
    }),
  )
  await Promise.all(together)
  expect(manyConnections.counts.idle).toBe(size)
  await change('alter table migrated add column two integer default 2')
  expect(await manyConnections.transaction(actor(), select)).toMatchObject([{ one: 1, two: 2 }])
  await manyConnections.close()
})

test('a read that PostgreSQL ends because of a deadlock, as with a migration, is repeated', async ({
  onTestFinished,
}) => {
  const other = new pg.Client(testDatabase.connection)
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('create table locked_first (); create table locked_second ()')
  await other.query(`set deadlock_timeout = '1min'; begin; lock table locked_second`)
  const reader = database.reader(actor())
  const reading = reader.query(
    sql`select count(*)::int as count from (select ${reader.organization} from locked_first, locked_second) both_tables`,
  )
  const waiting = `select from pg_locks where relation = 'locked_second'::regclass and not granted`
  await until('it waits for the table', async () => (await other.query(waiting)).rows.length === 1)
  await other.query('lock table locked_first; commit')
  expect(await reading).toEqual([expect.objectContaining({ count: 0 })])
})
