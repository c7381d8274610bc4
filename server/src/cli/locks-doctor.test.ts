import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { databaseUrlOf, run } from '../../test/command-line.ts'
import { isDistributed } from '../../test/engines.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { startTestService, type TestService } from '../../test/service.ts'
import { connect } from '../platform/database/connect.ts'
import type { Finding } from './finding.ts'

let database: TestDatabase
let folder: string
const clients: pg.Client[] = []
beforeAll(async () => {
  database = await createDatabase()
  folder = await mkdtemp(join(tmpdir(), 'rapport-locks-'))
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end()
})
afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

async function open(name: string): Promise<{ client: pg.Client; pid: number }> {
  const client = await connect({ ...database.connection, application_name: name })
  clients.push(client)
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { client, pid: rows[0]?.pid ?? 0 }
}

async function findings(): Promise<Record<string, Finding>> {
  const environment = {
    DATABASE_URL: databaseUrlOf(database),
    DATA_DIR: folder,
    SECRET: 'a secret that is long enough for a test',
  }
  const { output } = await run(['doctor', '--json'], { environment })
  const list = (JSON.parse(output) as { findings: Finding[] }).findings
  return Object.fromEntries(list.map((finding) => [finding.name, finding]))
}

/** Each check that needs a locked table takes its whole timeout. */
const slow = 120_000

test.skipIf(isDistributed())(
  'the doctor names the session that blocks others and how to end it, and still reports the rest',
  async () => {
    const free = await findings()
    expect(free.locks).toMatchObject({ state: 'ok' })
    const holder = await open('psql')
    await holder.client.query('begin; lock table instance, contacts in access exclusive mode')
    const waiting = await open('a script')
    const change = waiting.client.query('delete from contacts').catch(() => undefined)
    const found = await findings()
    expect(Object.keys(found).sort()).toEqual(Object.keys(free).sort())
    const unexamined = Object.values(found).filter(({ message }) => message.startsWith('not examined'))
    expect(unexamined.map(({ name }) => name)).toEqual(expect.arrayContaining(['retention', 'backup']))
    expect(unexamined.every(({ state }) => state === 'wrong')).toBe(true)
    for (const name of ['connections', 'clocks', 'indexes', 'schema']) expect(found[name]?.state).toBe('ok')
    expect(found.locks?.state).toBe('wrong')
    expect(found.locks?.message).toMatch(
      new RegExp(
        `process ${holder.pid} \\(psql, user \\w+, idle in transaction, for \\d+ s\\) holds AccessExclusiveLock on contacts, AccessExclusiveLock on instance; 1 session waits for it, since \\d+ s`,
      ),
    )
    expect(found.locks?.advice).toContain(`select pg_terminate_backend(${holder.pid});`)
    await holder.client.query('rollback')
    await change
  },
  slow,
)

test.skipIf(isDistributed())(
  'a locked table of migrations does not hide the findings',
  async () => {
    const free = await findings()
    const holder = await open('psql')
    await holder.client.query('begin; lock table schema_migrations in access exclusive mode')
    const found = await findings()
    expect(Object.keys(found).sort()).toEqual(Object.keys(free).sort())
    expect(found.schema).toMatchObject({ state: 'wrong', message: expect.stringMatching(/^not examined/) })
    expect(found.locks?.message).toContain(`process ${holder.pid} (psql`)
  },
  slow,
)

test.skipIf(isDistributed())(
  'a lock that only prevents changes is reported, although nobody waits yet',
  async () => {
    const holder = await open('')
    await holder.client.query('begin; lock table deals in exclusive mode')
    const heldLong = /unnamed, .* holds ExclusiveLock on deals$/
    await until('the lock is reported', async () => heldLong.test((await findings()).locks?.message ?? ''), slow)
    expect((await findings()).locks?.state).toBe('wrong')
  },
  slow,
)

test.skipIf(isDistributed())(
  'while changes wait, /readyz says so and the log names the blocker once, and then that it is over',
  async () => {
    let service: TestService | undefined
    try {
      service = await startTestService({}, { connection: database.connection, drop: () => Promise.resolve() })
      const readiness = async () => (await service?.anonymous('GET', '/readyz'))?.body
      expect(await readiness()).toEqual({ status: 'ready' })
      const holder = await open('psql')
      await holder.client.query('begin; lock table contacts in exclusive mode')
      await until('it says that changes wait', async () => (await readiness()).changes === 'waiting', 30_000)
      const errors = () =>
        service?.logged
          .map((line) => JSON.parse(line))
          .filter(({ level, msg }) => level === 50 && msg.startsWith('Changes wait'))
      // Two more checks must not repeat it.
      await new Promise((resolve) => setTimeout(resolve, 11_000))
      expect(errors()).toEqual([
        expect.objectContaining({
          msg: expect.stringMatching(
            `^Changes wait: process ${holder.pid} \\(psql, .* holds ExclusiveLock on contacts\\.$`,
          ),
          remedy: expect.stringContaining(`pg_terminate_backend(${holder.pid})`),
        }),
      ])
      await holder.client.query('rollback')
      await until('changes are accepted', async () => (await readiness()).changes === undefined, 30_000)
      const over = `"problem":"blocker ${holder.pid}","msg":"This problem is over."`
      await until('the log says that it is over', () => service?.logged.join('').includes(over) ?? false)
    } finally {
      await service?.close()
    }
  },
  slow,
)
