import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import {
  type ServiceProcess,
  type ServiceProcesses,
  serviceProcesses,
  sharedSecret,
} from '../../test/service-process.ts'
import { startTestService, type Json, type TestService } from '../../test/service.ts'
import { newContact, newWebhook, sendsToLoopback } from '../../test/webhook-fixture.ts'
import { Receiver, verify } from '../../test/webhook-receiver.ts'
import { parseSecret } from '../platform/secret/secret.ts'

let testDatabase: TestDatabase
/** Sends nothing itself. */
let writer: TestService
let processes: ServiceProcesses
let client: pg.Client
beforeAll(async () => {
  testDatabase = await createDatabase()
  const secret = parseSecret(sharedSecret)
  writer = await startTestService(
    { EGRESS_ALLOW: '127.0.0.1' },
    { ...testDatabase, secret, drop: async () => undefined },
  )
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
const contacts = 12
const changes = 8

test(
  'two processes of which one is killed again and again lose no event, and keep the order of each record',
  { timeout: 300_000 },
  async () => {
    const { call } = await writer.newOrganization()
    const receivers = await Promise.all([1, 2, 3].map(() => new Receiver().open()))
    const hooks: Json[] = []
    for (const [index, receiver] of receivers.entries()) {
      const refused = new Set<string>()
      receiver.answer = (response, { id, body }) => {
        // One event in ten fails first, and each answer takes a moment.
        const fails = body.data.revision % 10 === 9 && !refused.has(id)
        refused.add(id)
        setTimeout(() => response.writeHead(fails ? 500 : 204).end(), 5)
      }
      hooks.push(await newWebhook(call, receiver, { ordered: index === 0 }))
    }
    const arrived = () => receivers.reduce((sum, { received }) => sum + received.length, 0)
    const running = await Promise.all([start('one'), start('two')])
    const records = await Promise.all(Array.from({ length: contacts }, () => newContact(call)))
    for (let round = 0; round < rounds; round++) {
      const writing = changeAll(call, records, round)
      const before = arrived()
      let isWritten = false
      void writing.finally(() => (isWritten = true))
      await until('some of them have arrived, or all are written', () => isWritten || arrived() > before + 7 * round)
      const index = round % 2
      running[index]?.signal('SIGKILL')
      await running[index]?.ended
      await writing
      // As if the leases of the killed process were over; the other one must not notice.
      await client.query(`update webhook_states set leased_until = now() - interval '1 second'`)
      running[index] = await start(`successor ${round}`)
    }
    const expected = contacts * (1 + rounds * changes)
    await until(
      'every event has arrived everywhere',
      async () => {
        await client.query(`update webhook_states set due_at = now(), blocked_until = null where lease is null`)
        await client.query(
          `update webhook_deliveries set next_attempt_at = now() where status in ('pending', 'retrying')`,
        )
        return receivers.every(({ received }) => new Set(received.map(({ id }) => id)).size === expected)
      },
      120_000,
    )
    for (const [index, { received }] of receivers.entries()) {
      expect(received.length).toBeLessThan(expected * 2)
      for (const one of received) verify(hooks[index].secret, one)
    }
    const [ordered] = receivers
    for (const { id } of records) {
      const revisions = ordered?.received
        .filter(({ body }) => body.data.recordId === id)
        .map(({ body }) => body.data.revision)
      const first = [...new Set(revisions)]
      expect(first).toEqual([...first].sort((one, other) => one - other))
    }
    await until('all are finished', async () => {
      await client.query(
        `update webhook_deliveries set next_attempt_at = now() where status in ('pending', 'retrying')`,
      )
      await client.query(`update webhook_states set due_at = now(), leased_until = null, blocked_until = null`)
      const { rows } = await client.query(
        `select count(*)::int as count from webhook_deliveries where status <> 'delivered'`,
      )
      return rows[0].count === 0
    })
    await Promise.all(receivers.map((receiver) => receiver.close()))
  },
)

const start = (name: string): Promise<ServiceProcess> =>
  processes.start(name, { ...sendsToLoopback, IMPORT_WORKERS: '0' })

/** Several people change the records at once. */
async function changeAll(call: Json, records: readonly Json[], round: number): Promise<void> {
  for (let change = 0; change < changes; change++)
    await Promise.all(
      records.map(async ({ id }) => {
        const answer = await call('PATCH', `/v5/contacts/${id}`, { body: { name: `Name ${round} ${change}` } })
        expect(answer.status, answer.text).toBe(200)
      }),
    )
}
