import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../test/engines.ts'
import { lockedDatabase } from '../../test/locked-database.ts'

let database: Awaited<ReturnType<typeof lockedDatabase>>
beforeAll(async () => {
  database = await lockedDatabase()
})
afterAll(() => database.drop())

/** Each check that needs a locked table takes its whole timeout. */
const slow = 120_000

test.skipIf(isDistributed())(
  'the doctor names the session that blocks others and how to end it, and still reports the rest',
  async () => {
    const free = await database.findings()
    expect(free.locks).toMatchObject({ state: 'ok' })
    const holder = await database.open('psql')
    await holder.client.query('begin; lock table instance, contacts in access exclusive mode')
    const waiting = await database.open('a script')
    const change = waiting.client.query('delete from contacts').catch(() => undefined)
    const found = await database.findings()
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
