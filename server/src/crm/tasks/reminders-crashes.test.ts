import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newOwner } from '../../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { type ServiceProcesses, serviceProcesses, sharedSecret } from '../../../test/service-process.ts'
import { startTestService, type TestService, withoutBackground } from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { parseSecret } from '../../platform/secret/secret.ts'

let testDatabase: TestDatabase
/** Sends nothing itself. */
let writer: TestService
let processes: ServiceProcesses
let client: pg.Client
beforeAll(async () => {
  testDatabase = await createDatabase()
  const secret = parseSecret(sharedSecret)
  writer = await startTestService(withoutBackground, { ...testDatabase, secret, drop: async () => undefined })
  processes = await serviceProcesses(testDatabase)
  client = new pg.Client(testDatabase.connection)
  await client.connect()
})
afterAll(async () => {
  await processes.close()
  await writer.close()
  await client.end()
  await testDatabase.drop()
})

const rounds = 4
const tasksPerRound = 700

test('two processes of which one is killed again and again send each reminder once', { timeout: 300_000 }, async () => {
  const owner = await newOwner(writer)
  const [organizationId, userId] = [decodeId('org', owner.organizationId), decodeId('usr', owner.userId)]
  const count = async (table: string) => {
    const { rows } = await client.query(
      `select count(*)::int as count from ${table} where organization_id = $1 and kind = 'reminder'`,
      [organizationId],
    )
    return Number(rows[0].count)
  }
  const start = (name: string) => processes.start(name, { IMPORT_WORKERS: '0' })
  const running = await Promise.all([start('one'), start('two')])
  for (let round = 0; round < rounds; round++) {
    await client.query(
      `insert into tasks (organization_id, id, title, time_zone, assignee_id, remind_at, reminder_at, unsent_reminder_at)
         select $1, new_id(), 'Call', 'UTC', $2, now(), now(), now() from generate_series(1, $3)`,
      [organizationId, userId, tasksPerRound],
    )
    const before = round * tasksPerRound
    await until('some have been sent', async () => (await count('inbox_entries')) > before)
    const index = round % 2
    running[index]?.signal('SIGKILL')
    await running[index]?.ended
    running[index] = await start(`successor ${round}`)
    await until('all have been sent', async () => (await count('inbox_entries')) >= before + tasksPerRound, 60_000)
  }
  expect(await count('inbox_entries')).toBe(rounds * tasksPerRound)
  const { rows } = await client.query('select from tasks where unsent_reminder_at is not null')
  expect(rows).toEqual([])
  // One mail for each entry, in the same transaction.
  expect(await count('mails')).toBe(rounds * tasksPerRound)
})
