import fc from 'fast-check'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { least } from '../../../test/least.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { serviceActor } from '../model/caller.ts'
import { type Parameter, raw, type Sql, sql } from '../model/sql.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { CredentialChanged } from './failures.ts'

let server: TestDatabase
let other: pg.Client
const databases: Database[] = []
/** Writes to all connections. */
let writes = 0

beforeAll(async () => {
  server = await createEmptyDatabase()
  other = new pg.Client(server.connection)
  await other.connect()
})
afterEach(async () => void (await Promise.all(databases.splice(0).map((database) => database.close()))))
afterAll(async () => {
  await other.end()
  await server.drop()
})

class CountingClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config)
    const { stream } = this.connection
    const [sendOne, sendSeveral] = [stream._write.bind(stream), stream._writev?.bind(stream)]
    stream._write = (...given) => {
      writes++
      sendOne(...given)
    }
    stream._writev = (...given) => {
      writes++
      sendSeveral?.(...given)
    }
  }
}

const organizationId = '00000000-0000-4000-8000-000000000001'
const otherId = '00000000-0000-4000-8000-000000000002'
const actor = (live = 'true', id = organizationId) => ({ ...serviceActor('command', id, id), live: raw(live) })

/** A pool whose shared connections are open. */
async function open({ shared = 1, size = 4, ...options }: Partial<DatabaseOptions> = {}) {
  const connection = { ...server.connection, Client: CountingClient } as pg.ClientConfig
  const database = new Database({ connection, size, shared, ...options })
  databases.push(database)
  await until('the shared connections are open', async () => {
    const areOpen = database.counts.total === database.counts.idle
    writes = 0
    await Promise.all(Array.from({ length: 2 * shared }, () => read(database, 'warm')))
    return areOpen && writes === shared
  })
  return database
}

type Build = (value: Parameter | undefined) => Sql

/** Sends a statement that is the same for all values; resolves to its only value. */
async function read(
  database: Database,
  value: unknown,
  name = 'echo',
  build: Build = (given) => sql`${given}::text`,
  id = organizationId,
) {
  const reader = database.reader(actor('true', id))
  const rows = await reader.query<{ value: string }>({
    name,
    isCheap: true,
    values: [value],
    build: ([given]) => sql`select ${build(given)} as value where ${reader.organization} is not null`,
  })
  return rows[0]?.value
}

const sleep = (database: Database, seconds: number) =>
  read(database, seconds, 'sleep', (given) => sql`${given}::text || pg_sleep(${given}::float8)`)

const fail = (database: Database) => read(database, 0, 'fail', (given) => sql`1 / ${given}::integer`)

const backends = async (condition = 'true') => {
  const { rows } = await other.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'rapport' and datname = current_database() and ${condition}`,
  )
  return rows.map(({ pid }) => pid)
}

test('reads of one turn of the event loop are sent in one write for each shared connection', async () => {
  const database = await open({ shared: 2 })
  const values = Array.from({ length: 16 }, (_, index) => `value ${index}`)
  // On a busy machine, some may take so long that they are sent again, on other connections.
  const fewest = await least(2, async () => {
    writes = 0
    expect(await Promise.all(values.map((value) => read(database, value)))).toEqual(values)
    return writes
  })
  expect(fewest).toBe(2)
})

test('more reads than the shared connections should have at a time use other connections', async () => {
  const database = await open()
  const values = Array.from({ length: 50 }, (_, index) => `value ${index}`)
  expect(await Promise.all(values.map((value) => read(database, value)))).toEqual(values)
  expect(database.counts.total).toBe(4)
})

test('a read with a revoked credential returns nothing', async () => {
  const database = await open()
  const reader = database.reader(actor('false'))
  const statement = {
    name: 'revoked',
    isCheap: true,
    values: [],
    build: () => sql`select 1 as value where ${reader.organization} is not null`,
  }
  await expect(reader.query(statement)).rejects.toThrow(CredentialChanged)
})

test('each read gets its own result, whatever the others next to it do', async () => {
  const database = await open({ shared: 2, size: 6 })
  const kinds = fc.array(fc.constantFrom('echo', 'echo', 'echo', 'fail', 'wait'), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(kinds, async (given) => {
      const results = given.map(async (kind, index) => {
        if (kind === 'fail') return expect(fail(database)).rejects.toThrow(/division by zero/)
        if (kind === 'wait') return expect(await sleep(database, 0.01)).toBe('0.01')
        expect(await read(database, `${index}`)).toBe(`${index}`)
      })
      await Promise.all(results)
    }),
    { numRuns: 40 },
  )
})

test('a read that cannot be sent fails alone', async () => {
  const database = await open()
  const value = {
    toPostgres() {
      throw new Error('this value has no text')
    },
  }
  const first = sleep(database, 0.05)
  const impossible = expect(read(database, value)).rejects.toThrow(/no text/)
  const next = [sleep(database, 0.05), read(database, 'same statement'), read(database, 'x', 'another')]
  await impossible
  expect([await first, ...(await Promise.all(next))]).toEqual(['0.05', '0.05', 'same statement', 'x'])
})

test('reads that each take a little do not hold up those of another organization', async () => {
  const database = await open({ size: 8, limitConcurrency: true })
  const before = await least(14, async () => {
    let finished = 0
    const many = Array.from({ length: 30 }, () => sleep(database, 0.08).then(() => finished++))
    expect(await read(database, 'other', 'other', undefined, otherId)).toBe('other')
    const then = finished
    await Promise.all(many)
    return then
  })
  expect(before).toBeLessThan(15)
})

test('reads that were sent again do not also run one after the other on the shared connection', async () => {
  const database = await open({ size: 9 })
  await other.query('create sequence runs')
  const run = () => read(database, 1, 'run', (given) => sql`nextval('runs')::text || pg_sleep(${given}::float8)`)
  await Promise.all(Array.from({ length: 8 }, run))
  await until('none runs', async () => (await backends(`state = 'active' and query like '%runs%'`)).length === 0)
  const { rows } = await other.query<{ last_value: string }>('select last_value from runs')
  // One begins before its connection is ended.
  expect(Number(rows[0]?.last_value)).toBeLessThanOrEqual(9)
})

test('reads after one that takes long are sent again on other connections', async () => {
  const database = await open()
  await other.query('create table gate ()')
  await other.query('begin; lock table gate')
  const long = read(database, 'x', 'pass', (given) => sql`(select count(gate.*) || ${given}::text from gate)`)
  const values = Array.from({ length: 8 }, (_, index) => `value ${index}`)
  const next = Promise.all(values.map((value) => read(database, value)))
  expect(await next).toEqual(values)
  expect(await read(database, 'later')).toBe('later')
  await other.query('commit')
  expect(await long).toBe('0x')
  // The shared connection takes reads again.
  await until('reads share a connection', async () => {
    await Promise.all([read(database, 'one'), read(database, 'two')])
    writes = 0
    await Promise.all([read(database, 'one'), read(database, 'two')])
    return writes === 1
  })
})

test('a read past its deadline is answered, and its connection replaced', async () => {
  const database = await open({ deadline: 400 })
  const refused = expect(sleep(database, 3)).rejects.toMatchObject({ status: 503 })
  const sleeping: number[] = []
  await until(
    'it is read',
    async () => sleeping.push(...(await backends(`state = 'active' and query like '%pg_sleep%'`))) > 0,
  )
  await refused
  expect(await read(database, 'next')).toBe('next')
  await until('the connection is ended', async () => !(await backends()).some((pid) => sleeping.includes(pid)))
})

test('reads whose shared connection is lost are sent again', async () => {
  const database = await open()
  const waiting = sleep(database, 1)
  const next = [read(database, 'one'), read(database, 'two')]
  await until('it is ended', async () => {
    const pids = await backends(`state = 'active' and query like '%pg_sleep%'`)
    await other.query('select pg_terminate_backend(pid) from unnest($1::integer[]) pid', [pids])
    return pids.length > 0
  })
  expect(await Promise.all([waiting, ...next])).toEqual(['1', 'one', 'two'])
})

test('a shared connection that is lost while nobody uses it is replaced', async () => {
  const database = await open()
  await other.query('select pg_terminate_backend(pid) from unnest($1::integer[]) pid', [await backends()])
  await until('the connections are gone', () => database.counts.total === 0)
  expect(await read(database, 'next')).toBe('next')
})

test('prepared statements that a shared connection no longer has are prepared again', async () => {
  const database = await open()
  await other.query('create table changing (value integer)')
  const readAll = () =>
    read(database, 'x', 'changing', (given) => sql`(select count(changing.*) || ${given}::text from changing)`)
  expect(await readAll()).toBe('0x')
  await other.query('alter table changing add column another text; insert into changing values (1)')
  expect(await Promise.all([readAll(), readAll(), readAll()])).toEqual(['1x', '1x', '1x'])
})

test('closing waits for the results of what was sent', async () => {
  const database = await open()
  const pending = [sleep(database, 0.3), read(database, 'one')]
  await database.close()
  databases.length = 0
  expect(await Promise.all(pending)).toEqual(['0.3', 'one'])
  await until('its connections are closed', async () => (await backends()).length === 0)
})

test('without a database, reads fail like others', async () => {
  const connection = { host: '127.0.0.1', port: 1, user: 'nobody' }
  const database = new Database({ connection, size: 4, shared: 2 })
  databases.push(database)
  await expect(read(database, 'one')).rejects.toMatchObject({ status: 503 })
  await expect(read(database, 'two')).rejects.toMatchObject({ status: 503 })
})
