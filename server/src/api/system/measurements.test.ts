import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordLastBackup } from '../../platform/operations/backup/last-backup.ts'
import { decodeId } from '../../platform/model/ids.ts'
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

const uuidOf = (organization?: TestOrganization): string => decodeId('org', organization?.organizationId ?? '') ?? ''
const execute = (statement: ReturnType<typeof sql>) =>
  service.database.crossTenantQuery('check the database', statement)

/** The values of a scrape, by series. */
async function scrape(): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(metricsUrl)).text()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

/** The work, while the changes of these organizations wait for their positions in the feed. */
async function withoutPositions<Result>(ids: readonly string[], work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client(database.connection)
  await client.connect()
  try {
    // The worker that gives them waits for this row.
    await client.query('begin')
    await client.query(
      `insert into event_feeds (organization_id, epoch) select unnest($1::uuid[]), 'other'
        on conflict (organization_id) do update set epoch = event_feeds.epoch`,
      [ids],
    )
    return await work()
  } finally {
    await client.end()
  }
}

/** A delivery of each of three webhooks: only the first one is enabled and not waiting for a receiver that fails. */
async function addDeliveries(): Promise<void> {
  await execute(sql`
    with added as (
      insert into webhooks (organization_id, id, url, status, created_by)
      select home.organization_id, gen_random_uuid(), 'https://example.com/' || number,
        case number when 2 then 'paused' else 'enabled' end, home.organization_id
      from (select organization_id from events limit 1) home, generate_series(1, 3) number
      returning organization_id, id, url, created_by),
    states as (
      insert into webhook_states (organization_id, webhook_id, due_at, blocked_until)
      select organization_id, id, now() - case when url like '%1' then interval '2 minutes' else interval '1 hour' end,
        case when url like '%3' then now() + interval '1 hour' end
      from added)
    insert into webhook_deliveries (organization_id, id, webhook_id, event_id, type, record_id, next_attempt_at)
    select organization_id, gen_random_uuid(), id, gen_random_uuid(), 'contact.created', 'con_1', now() from added`)
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
  await addDeliveries()
  const takenAt = '2026-11-20T01:02:03.000Z'
  await recordLastBackup(database.connection, { takenAt, folder: '/backups' })
  const values = await withoutPositions([uuidOf(organizations[0])], async () => {
    await execute(sql`update events set "position" = null, written_at = now() - interval '5 minutes'
      where organization_id = ${uuidOf(organizations[0])}::uuid`)
    return scrape()
  })
  expect(values.get('rapport_queue_length{queue="imports"}')).toBe(4)
  const lag = values.get('rapport_queue_lag_seconds{queue="imports"}') ?? 0
  expect([lag >= 20 * 60, lag < 20 * 60 + 30]).toEqual([true, true])
  expect(values.get('rapport_queue_lag_seconds{queue="notes"}')).toBe(0)
  expect(values.get('rapport_queue_length{queue="events"}')).toBeGreaterThan(0)
  expect(values.get('rapport_queue_lag_seconds{queue="events"}')).toBeGreaterThanOrEqual(300)
  expect(values.get('rapport_queue_length{queue="webhooks"}')).toBe(3)
  const overdue = values.get('rapport_queue_lag_seconds{queue="webhooks"}') ?? 0
  expect([overdue >= 120, overdue < 150]).toEqual([true, true])
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
