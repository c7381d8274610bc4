import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../test/engines.ts'
import { until } from '../../test/processes.ts'
import { startTestService, type TestService } from '../../test/service.ts'
import { lockedDatabase } from '../../test/locked-database.ts'

let database: Awaited<ReturnType<typeof lockedDatabase>>
beforeAll(async () => {
  database = await lockedDatabase()
})
afterAll(() => database.drop())

/** Each check that needs a locked table takes its whole timeout. */
const slow = 120_000

test.skipIf(isDistributed())(
  'a locked table of migrations does not hide the findings',
  async () => {
    const free = await database.findings()
    const holder = await database.open('psql')
    await holder.client.query('begin; lock table schema_migrations in access exclusive mode')
    const found = await database.findings()
    expect(Object.keys(found).sort()).toEqual(Object.keys(free).sort())
    expect(found.schema).toMatchObject({ state: 'wrong', message: expect.stringMatching(/^not examined/) })
    expect(found.locks?.message).toContain(`process ${holder.pid} (psql`)
  },
  slow,
)

test.skipIf(isDistributed())(
  'a lock that only prevents changes is reported, although nobody waits yet',
  async () => {
    const holder = await database.open('')
    await holder.client.query('begin; lock table deals in exclusive mode')
    const heldLong = /unnamed, .* holds ExclusiveLock on deals$/
    await until(
      'the lock is reported',
      async () => heldLong.test((await database.findings()).locks?.message ?? ''),
      slow,
    )
    expect((await database.findings()).locks?.state).toBe('wrong')
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
      const holder = await database.open('psql')
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
