import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordLastBackup } from '../../platform/operations/backup/last-backup.ts'
import { sql } from '../../platform/model/sql.ts'
import { version } from '../../release.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { newImport, newLead } from '../../../test/pushes.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let database: TestDatabase
let service: TestService
let organizations: TestOrganization[]
let metricsUrl: string
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({ METRICS_PORT: '0', DATA_DIR: tmpdir() }, database)
  organizations = [await service.newOrganization(), await service.newOrganization()]
  const line = service.logged.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'metrics')
  metricsUrl = line.url
})
afterAll(() => service.close())

const execute = (statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery('check the database', statement)

/** The values of a scrape, by series. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(metricsUrl)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

test('a scrape shows queues with their lag, mails, the last backup, sizes and the version', async () => {
  for (const [index, organization] of organizations.entries()) {
    const { path, uuid } = await newImport(service, organization)
    for (let push = 0; push < 2; push++)
      expect((await service.anonymous('POST', path, { body: newLead() })).status).toBe(200)
    await execute(sql`
      update import_rows set run_at = now() - make_interval(mins => ${(index + 1) * 10}) where import_id = ${uuid}::uuid`)
  }
  await execute(sql`
    insert into mails (id, kind, recipient, recipient_key, status, ended_at, created_at, run_at)
    select gen_random_uuid(), 'sign-up', 'a@example.com', 'a@example.com', status, now() - age, now() - age, null
    from (values ('sent', interval '1 hour'), ('sent', interval '2 hours'), ('failed', interval '1 hour'),
      ('failed', interval '2 days')) mail (status, age)`)
  const takenAt = '2026-11-20T01:02:03.000Z'
  await recordLastBackup(database.connection, { takenAt, folder: '/backups' })
  const values = await scrape()
  expect(values.get('rapport_queue_length{queue="imports"}')).toBe(4)
  const lag = values.get('rapport_queue_lag_seconds{queue="imports"}') ?? 0
  expect([lag >= 20 * 60, lag < 20 * 60 + 30]).toEqual([true, true])
  expect(values.get('rapport_queue_lag_seconds{queue="notes"}')).toBe(0)
  expect(values.get('rapport_mails{status="sent"}')).toBe(2)
  expect(values.get('rapport_mails{status="failed"}')).toBe(1)
  expect(values.get('rapport_last_backup_timestamp_seconds')).toBe(Date.parse(takenAt) / 1000)
  expect(values.get('rapport_database_size_bytes')).toBeGreaterThan(5_000_000)
  const { blocks, bsize } = await statfs(tmpdir())
  expect(values.get('rapport_free_space_bytes')).toBeGreaterThan(0)
  expect(values.get('rapport_free_space_bytes')).toBeLessThanOrEqual(blocks * bsize)
  expect(values.get(`rapport_build_info{version="${version()}"}`)).toBe(1)
  expect(values.get('rapport_workers_replaced_total')).toBe(0)
})

test('a process that does not maintain the database measures nothing', async () => {
  const api = await startTestService(
    { ROLE: 'api', DATABASE_URL: 'postgres://rapport@/crm?host=/run/postgresql', METRICS_PORT: '0' },
    { ...database, drop: async () => undefined },
  )
  try {
    const line = api.logged.map((text) => JSON.parse(text)).find(({ msg }) => msg === 'metrics')
    const text = await (await fetch(line.url)).text()
    expect(text).not.toContain('rapport_queue_length')
    expect(text).toContain('rapport_build_info')
  } finally {
    await api.close()
  }
})
