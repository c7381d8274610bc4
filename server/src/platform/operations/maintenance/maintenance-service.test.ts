import { expect, test } from 'vitest'
import { Database } from '../../database/database.ts'
import { sql } from '../../model/sql.ts'
import { decodeId } from '../../model/ids.ts'
import { type RetentionPolicy, purge } from './retention-store.ts'
import { retentionPolicies } from '../../../retention-policies.ts'
import { createDatabase } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import { type Call, startTestService } from '../../../../test/service.ts'

/** The policy of contacts; with a TTL of 0, restore and purge are possible at the same time. */
const contactPolicy = retentionPolicies({ importRowsDays: 0, auditLogDays: 0, historyDays: 0, eventDays: 30 }).find(
  ({ name }) => name === 'contacts',
)

test('of a concurrent restore and purge of a record, one takes effect completely', async () => {
  const { connection, drop } = await createDatabase()
  const service = await startTestService({}, { connection, drop })
  const { call, organizationId } = await service.newOrganization()
  if (!contactPolicy) throw new Error('contacts have no retention policy')
  const immediatePolicy: RetentionPolicy = { ...contactPolicy, ttlSeconds: 0 }
  // A busy machine may return 503, which changes nothing.
  const callWithRetry: Call = async (...request) => {
    const answer = await call(...request)
    return answer.status === 503 ? callWithRetry(...request) : answer
  }
  const keysOf = (ids: string[]) => ids.map((id) => [decodeId('con', id) ?? ''])
  const wins = { restored: 0, purged: 0 }
  for (let round = 0; round < 12; round++) {
    const ids: string[] = []
    for (let index = 0; index < 4; index++) {
      const { body } = await callWithRetry('POST', '/v5/contacts', { body: { name: 'Ada' } })
      await callWithRetry('POST', `/v5/contacts/${body.id}/notes`, { body: { body: 'Met' } })
      await callWithRetry('DELETE', `/v5/contacts/${body.id}`)
      ids.push(String(body.id))
    }
    const purgeAll = () =>
      purge(service.database, immediatePolicy, {
        organizationId: decodeId('org', organizationId) ?? '',
        keys: keysOf(ids),
        limit: 500,
      })
    const restoreAll = () => Promise.all(ids.map((id) => callWithRetry('POST', `/v5/contacts/${id}/restore`)))
    // First the purge first, then the restore first, then both concurrently.
    if (round === 0) await purgeAll()
    const [restores] = await Promise.all([restoreAll(), round > 1 && purgeAll()])
    if (round === 1) await purgeAll()
    for (const [index, { status }] of restores.entries()) {
      const read = await callWithRetry('GET', `/v5/contacts/${ids[index]}`)
      const notes = await callWithRetry('GET', `/v5/contacts/${ids[index]}/notes`)
      expect([status, read.status, notes.status, notes.body.length]).toEqual(
        status === 200 ? [200, 200, 200, 1] : [404, 404, 404, undefined],
      )
      wins[status === 200 ? 'restored' : 'purged']++
    }
  }
  expect(wins.restored + wins.purged).toBe(48)
  expect(wins.purged).toBeGreaterThan(0)
  expect(wins.restored).toBeGreaterThan(0)
  await service.close()
})

test('a service purges automatically, counts purged records in its metrics and respects its setting', async () => {
  const { connection, drop } = await createDatabase()
  const sharedDatabase = { connection, drop: () => Promise.resolve() }
  const before = await startTestService({}, sharedDatabase)
  const { call, organizationId, triggerUrl } = await before.newOrganization()
  const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Ada' } })
  await call('DELETE', `/v5/contacts/${contact.id}`)
  for (const email of ['a@example.com', 'b@example.com']) {
    await before.anonymous('POST', new URL(triggerUrl).pathname, { body: { contact: { email } } })
  }
  await before.close()
  const database = new Database({ connection, size: 1 })
  const execute = (statement: ReturnType<typeof sql>) => database.crossTenantQuery('check the database', statement)
  await execute(sql`update contacts set deleted_at = now() - interval '31 days'`)
  await execute(sql`update import_rows set status = 'INVALID', run_at = null, finished_at = now() - interval '8 days'
    where id = (select id from import_rows order by id limit 1)`)
  const service = await startTestService({ METRICS_PORT: '0', IMPORT_ROW_RETENTION_DAYS: '7' }, { connection, drop })
  const metricsUrl = service.logged.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'metrics')?.url
  const metrics = async () => (await fetch(metricsUrl)).text()
  const isPurged = (text: string, kind: string) => text.includes(`rapport_purged_records_total{kind="${kind}"} 1\n`)
  await until('both are purged', async () => {
    const text = await metrics()
    return isPurged(text, 'rows') && isPurged(text, 'contacts')
  })
  const remaining = await execute(
    sql`select (select count(*)::int from contacts) as contacts, (select count(*)::int from import_rows) as rows`,
  )
  expect(remaining).toEqual([{ contacts: 0, rows: 1 }])
  expect(organizationId).toMatch(/^org_/)
  await database.close()
  await service.close()
})
