import { afterAll, beforeAll, expect, test } from 'vitest'
import { created, entriesOf, newColleague } from '../../test/inbox-fixture.ts'
import { newOwner } from '../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { type ServiceProcesses, serviceProcesses, sharedSecret } from '../../test/service-process.ts'
import { startTestService, withoutBackground, type TestService } from '../../test/service.ts'
import { sql } from '../platform/model/sql.ts'
import { parseSecret } from '../platform/secret/secret.ts'

let testDatabase: TestDatabase
/** Notifies nobody itself. */
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

const rounds = 5
const tasks = 40

test(
  'two processes of which one is killed again and again report each event exactly once',
  { timeout: 300_000 },
  async () => {
    const owner = await newOwner(writer)
    const people = [await newColleague(writer, owner), await newColleague(writer, owner)]
    const running = await Promise.all([processes.start('one'), processes.start('two')])
    const count = async () => {
      const [row] = await writer.database.crossTenantQuery<{ count: number }>(
        'check the database',
        sql`select count(*)::integer as count from inbox_entries`,
      )
      return row?.count ?? 0
    }
    for (let round = 0; round < rounds; round++) {
      const before = await count()
      let isWritten = false
      const writing = (async () => {
        for (let number = 0; number < tasks; number++) {
          const assigneeId = people[number % people.length]?.userId
          await created(owner.call, '/v5/tasks', { title: `Task ${round} ${number}`, assigneeId })
        }
        isWritten = true
      })()
      await until('some are reported, or all are written', async () => isWritten || (await count()) > before + round)
      const index = round % 2
      running[index]?.signal('SIGKILL')
      await running[index]?.ended
      await writing
      running[index] = await processes.start(`successor ${round}`)
    }
    await until('every event is reported', async () => (await count()) >= rounds * tasks, 60_000)
    expect(await count()).toBe(rounds * tasks)
    for (const person of people) {
      const [row] = await writer.database.crossTenantQuery<{ count: number }>(
        'check the database',
        sql`select count(distinct record_id)::integer as count from inbox_entries
          where user_id = ${person.userId.slice(4)}::uuid`,
      )
      expect(row?.count).toBe((rounds * tasks) / people.length)
      // What was assigned together is one entry, which counts each once.
      const counts = (await entriesOf(person, '?limit=100')).map(({ recordCount }) => Number(recordCount))
      expect(counts.reduce((sum, number) => sum + number)).toBe((rounds * tasks) / people.length)
      expect(counts.length).toBeLessThan((rounds * tasks) / people.length)
    }
  },
)
