import pg from 'pg'
import { expect, test } from 'vitest'
import { decodeId } from '../../platform/model/ids.ts'
import { newFullLead } from '../../../test/import-audit.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher } from '../../../test/pushes.ts'
import { startTestService } from '../../../test/service.ts'

/** Waiting rows of one organization; `IMPORT_BACKLOG=1000000` for the full size. */
const backlog = Number(process.env.IMPORT_BACKLOG ?? 25_000)
const batch = 100

/** The number of sequential scans of the table of rows. */
async function scansOf(client: pg.Client): Promise<{ whole: number }> {
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query<{ whole: number }>(
    `select seq_scan::int as whole from pg_stat_user_tables where relname = 'import_rows'`,
  )
  return { whole: rows[0]?.whole ?? Number.NaN }
}

test(`${backlog} waiting rows of one organization delay those of another by only a few batches, without sequential scans`, async () => {
  const testDatabase = await createDatabase()
  const client = new pg.Client(testDatabase.connection)
  await client.connect()
  const idle = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  const large = await idle.newOrganization()
  const small = await idle.newOrganization()
  await idle.close()
  const largeId = decodeId('org', large.organizationId)
  await client.query(
    `insert into import_rows (organization_id, import_id, id, payload)
      select $1, $2, md5('row ' || number)::uuid,
        jsonb_build_object('contact', jsonb_build_object('email', number || '@backlog.example'))
      from generate_series(1, $3::int) number`,
    [largeId, decodeId('imp', large.importId), backlog],
  )
  await client.query('vacuum analyze import_rows')

  const before = await scansOf(client)
  const service = await startTestService({ IMPORT_WORKERS: '2' }, { ...testDatabase, drop: async () => undefined })
  const push = pusher(service, new URL(small.triggerUrl).pathname)
  const isDone = async (id: string) => {
    const { rows } = await client.query<{ finished: boolean }>(
      'select finished_at is not null as finished from import_rows where organization_id = $1 and id = $2',
      [decodeId('org', small.organizationId), decodeId('row', id)],
    )
    return rows[0]?.finished === true
  }
  const accepted: string[] = []
  for (let count = 0; count < 10; count++) {
    const { status, body } = await push(newFullLead())
    expect(status).toBe(200)
    accepted.push(body.id)
    await until('its row is finished', () => isDone(body.id), 60_000)
  }
  await service.close()
  // Closed connections have reported all their statistics.
  const after = await scansOf(client)
  expect(after.whole).toBe(before.whole)

  const { rows } = await client.query<{ created_at: Date; finished_at: Date }>(
    'select created_at, finished_at from import_rows where organization_id = $1 order by id',
    [decodeId('org', small.organizationId)],
  )
  const waits = []
  for (const row of rows) {
    const { rows: counts } = await client.query<{ before: number; overtaken: number }>(
      `select count(*) filter (where finished_at < $2)::int as before,
        count(*) filter (where finished_at between $2 and $3)::int as overtaken
      from import_rows where organization_id = $1`,
      [largeId, row.created_at, row.finished_at],
    )
    waits.push(...counts)
  }
  // Rows of both organizations must have been processed at the same time, or the test proves nothing.
  expect(waits.at(-1)?.before).toBeGreaterThan(0)
  expect(waits.at(-1)?.before).toBeLessThan(backlog)
  for (const { overtaken } of waits) expect(overtaken).toBeLessThanOrEqual(5 * batch)
  await client.end()
  await testDatabase.drop()
}, 600_000)
