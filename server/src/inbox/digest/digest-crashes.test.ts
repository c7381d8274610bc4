import { afterAll, beforeAll, expect, test } from 'vitest'
import { addEntry, choose, newTask } from '../../../test/inbox-entries.ts'
import { newOwner, type TestOwner } from '../../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { type ServiceProcesses, serviceProcesses, sharedSecret } from '../../../test/service-process.ts'
import { startTestService, type TestService, withoutBackground } from '../../../test/service.ts'
import { sql } from '../../platform/model/sql.ts'
import { parseSecret } from '../../platform/secret/secret.ts'
import { weekDays } from '../kinds.ts'

let testDatabase: TestDatabase
/** Mails nothing itself. */
let writer: TestService
let processes: ServiceProcesses
beforeAll(async () => {
  testDatabase = await createDatabase()
  const secret = parseSecret(sharedSecret)
  writer = await startTestService(withoutBackground, { ...testDatabase, secret, drop: async () => undefined })
  processes = await serviceProcesses(testDatabase)
})
afterAll(async () => {
  await processes.close()
  await writer.close()
  await testDatabase.drop()
})

const people = 60
const kills = 3

/** The digests, by recipient. */
async function digests(): Promise<ReadonlyMap<string, number>> {
  const rows = await writer.database.crossTenantQuery<{ recipient: string; mails: number }>(
    'check the database',
    sql`select recipient, count(*)::integer as mails from mails where kind = 'digest' group by recipient`,
  )
  return new Map(rows.map(({ recipient, mails }) => [recipient, mails]))
}

test(
  'two processes of which one is killed again and again mail each digest exactly once',
  { timeout: 300_000 },
  async () => {
    const owners: TestOwner[] = []
    for (let number = 0; number < people; number++) {
      const owner = await newOwner(writer)
      const reader = { database: writer.database, ...owner }
      await choose(reader, ['inbox', 'digest'], { digestAt: '00:00', digestDays: weekDays })
      await addEntry(reader, await newTask(owner.call))
      await addEntry(reader, await newTask(owner.call))
      owners.push(owner)
    }
    const yesterday = sql`update inbox_entries set created_at = created_at - interval '1 day'`
    await writer.database.crossTenantQuery('check the database', yesterday)
    const running = await Promise.all([processes.start('one'), processes.start('two')])
    for (let kill = 0; kill < kills; kill++) {
      const before = (await digests()).size
      await until('some are mailed', async () => (await digests()).size > Math.min(before, people - 1))
      const index = kill % 2
      running[index]?.signal('SIGKILL')
      await running[index]?.ended
      running[index] = await processes.start(`successor ${kill}`)
    }
    await until('all are mailed', async () => (await digests()).size === people, 90_000)
    expect([...(await digests()).entries()].sort()).toEqual(owners.map(({ email }) => [email, 1]).sort())
    const left = sql`select from inbox_entries where digest_pending`
    expect(await writer.database.crossTenantQuery('check the database', left)).toEqual([])
  },
)
