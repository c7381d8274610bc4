import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBinaries } from '../embedded-postgres/binaries.ts'
import { clusterConnection, initializeCluster, startPostgres } from '../embedded-postgres/cluster.ts'
import { checkSnapshot } from './read.ts'
import { createBackupFixture, restoredSchemaOf, tableChecksums, schemaOf, secret } from '../../../../test/backups.ts'
import { run, databaseUrlOf } from '../../../../test/command-line.ts'
import { query } from '../../../../test/data-directory.ts'
import { debianBinaries } from '../../../../test/debian.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase, testCluster } from '../../../../test/postgres.ts'
import { until } from '../../../../test/processes.ts'
import { type ServiceProcesses, serviceProcesses } from '../../../../test/service-process.ts'

let source: TestDatabase
let fixture: Awaited<ReturnType<typeof createBackupFixture>>
let processes: ServiceProcesses
let account: { apiKey: string; organizationId: string; triggerUrl: string }
let url: string

beforeAll(async () => {
  source = await createDatabase()
  fixture = await createBackupFixture()
  processes = await serviceProcesses(source)
  const service = await processes.start('rapport')
  url = service.url
  const args = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--json', '--password-stdin']
  const environment = { DATABASE_URL: databaseUrlOf(source), DATA_DIR: join(fixture.home, 'data'), SECRET: secret }
  account = JSON.parse((await run(args, { environment, input: 'a password that is long enough' })).output)
})
afterAll(async () => {
  await processes.close()
  await fixture.close()
  await source.drop()
})

const headers = () => ({
  authorization: `Bearer ${account.apiKey}`,
  'service-organization-id': account.organizationId,
  'content-type': 'application/json',
})

const post = (path: string, body: unknown, baseUrl = url, key: string = randomUUID()): Promise<number> =>
  fetch(`${baseUrl}${path}`, {
    method: 'POST',
    headers: { ...headers(), 'idempotency-key': key },
    body: JSON.stringify(body),
  }).then(({ status }) => status)

/** Creates contacts and pushes leads until `stop` is called. */
function startWriting() {
  const created: string[] = []
  const pushed: string[] = []
  const path = new URL(account.triggerUrl).pathname
  let isStopped = false
  const sender = async (list: string[], send: (email: string, key: string) => Promise<number>) => {
    for (; !isStopped;) {
      const [email, key] = [`${randomUUID()}@example.com`, randomUUID()]
      let status = await send(email, key)
      // The service may be overloaded for a moment. With its key, a write that was stored all the same is not repeated.
      while (status === 503) status = await delay(1000).then(() => send(email, key))
      expect(status).toBeLessThan(300)
      list.push(email)
    }
  }
  const name = 'Ça — «тест»\t\\N \\. "1"\r\n\u2028'
  const done = Promise.all([
    ...[1, 2].map(() =>
      sender(created, (email, key) =>
        post(
          '/v5/contacts',
          {
            email,
            lastName: 'Ça — «тест» \\N \\.',
            tags: ['a,b', '\\.'],
            customProperties: { [`k${Number.parseInt(key, 16) % 7}`]: name },
          },
          url,
          key,
        ),
      ),
    ),
    ...[1, 2].map(() =>
      sender(pushed, (email, key) =>
        post(path, { contact: { email, note: name }, company: { name: email } }, url, key),
      ),
    ),
  ])
  return { created, pushed, stop: () => ((isStopped = true), done) }
}

const emailsIn = async ({ connection }: Pick<TestDatabase, 'connection'>): Promise<Set<unknown>> =>
  new Set(
    (
      await query(connection, `select email from contacts union select payload->'contact'->>'email' from import_rows`)
    ).map(({ email }) => email),
  )

/** An empty database on the other engine if it is installed, else on this one. */
async function createTargetDatabase(): Promise<TestDatabase> {
  const binaries = testCluster().engine === 'embedded' ? debianBinaries() : await findBinaries()
  if (binaries === undefined) return createEmptyDatabase()
  const home = await mkdtemp(join(tmpdir(), 'rapport-elsewhere-'))
  await chmod(home, 0o711)
  const [folder, socketFolder] = [join(home, 'data'), join(home, 'socket')]
  await initializeCluster({ binaries, folder, sync: false })
  const settings = { fsync: 'off', shared_buffers: '32MB' }
  const server = await startPostgres({ binaries, folder, socketFolder, logFile: join(home, 'log'), settings })
  await query(clusterConnection(socketFolder), 'create database elsewhere template template0')
  return {
    connection: clusterConnection(socketFolder, 'elsewhere') as TestDatabase['connection'],
    drop: async () => {
      await server.stop('immediate')
      await rm(home, { recursive: true, force: true })
    },
  }
}

test('a backup under load contains every acknowledged write from before its start and can be restored on the other engine', async () => {
  const target = await createTargetDatabase()
  const file = fixture.file('under-load')
  try {
    const writes = startWriting()
    await until('there are records', () => writes.created.length > 30 && writes.pushed.length > 30)
    const before = [...writes.created, ...writes.pushed]
    const backup = await fixture.backUp(source, file, '--json')
    const countAfterBackup = writes.created.length + writes.pushed.length
    await until('more was written', () => writes.created.length + writes.pushed.length > countAfterBackup)
    await writes.stop()
    expect(backup).toMatchObject({ code: 0 })
    expect((await stat(file)).mode & 0o777).toBe(0o600)

    const restored = await fixture.restore(target, file, '--json')
    expect(restored, restored.errors).toMatchObject({ code: 0 })
    const report = JSON.parse(backup.output) as { tables: Record<string, number> }
    const found = await tableChecksums(target.connection)
    expect(Object.fromEntries(Object.entries(found).map(([name, { rows }]) => [name, rows]))).toEqual(report.tables)
    const emails = await emailsIn(target)
    expect(before.filter((email) => !emails.has(email))).toEqual([])
    const known = new Set<unknown>([...writes.created, ...writes.pushed])
    expect([...emails].filter((email) => !known.has(email))).toEqual([])
    // The counts are restored, not counted a second time by triggers.
    const counts = `select status, sum(change)::int as rows from import_row_counts group by 1 having sum(change) <> 0 order by 1`
    const rows = `select status, count(*)::int as rows from import_rows group by 1 order by 1`
    expect(await query(target.connection, counts)).toEqual(await query(target.connection, rows))

    const services = await serviceProcesses(target)
    const { url: targetUrl } = await services.start('rapport')
    expect(await post('/v5/contacts', { email: 'after@example.com' }, targetUrl)).toBe(201)
    expect(
      await post(new URL(account.triggerUrl).pathname, { contact: { email: 'pushed@example.com' } }, targetUrl),
    ).toBe(200)
    await services.close()
  } finally {
    await target.drop()
  }
}, 120_000)

test('a restore reproduces every table, generated column and the schema, and a second backup has the same checksums', async () => {
  await until('the rows are processed', async () => {
    const [waiting] = await query(
      source.connection,
      `select count(*)::int as rows from import_rows where finished_at is null`,
    )
    return waiting?.['rows'] === 0
  })
  await processes.close()
  const [file, again] = [fixture.file('quiet'), fixture.file('again')]
  const target = await createEmptyDatabase()
  try {
    const before = await tableChecksums(source.connection)
    expect(await fixture.backUp(source, file)).toMatchObject({ code: 0 })
    expect(await fixture.restore(target, file)).toMatchObject({ code: 0 })
    const restored = await tableChecksums(target.connection)
    expect(comparable(restored)).toEqual(comparable(before))
    expect(unlogged.map((table) => restored[table]?.rows)).toEqual([0, 0, 0])
    // Positions that readers know are given again: their feeds are new.
    const epoch = 'select epoch from event_feeds'
    expect(await query(target.connection, epoch)).not.toEqual(await query(source.connection, epoch))
    expect(await restoredSchemaOf(target.connection)).toEqual(await schemaOf(source.connection))
    expect(await fixture.backUp(target, again)).toMatchObject({ code: 0 })
    const [second, first] = await Promise.all([checkSnapshot(again), checkSnapshot(file)])
    expect(comparable(second.sums.tables)).toEqual(comparable(first.sums.tables))
    // The record of a backup is written after its snapshot.
    const { takenAt } = (await checkSnapshot(again)).header
    const [record] = await query(target.connection, `select value from instance where name = 'last_backup'`)
    expect(JSON.parse(String(record?.['value']))).toEqual({ takenAt, folder: dirname(again) })
  } finally {
    await target.drop()
  }
}, 120_000)

/** Without the contents of the table that a restore changes. */
const comparable = <Found extends { rows: number }>(tables: Record<string, Found>) => ({
  ...Object.fromEntries(Object.entries(tables).filter(([table]) => !unlogged.includes(table))),
  event_feeds: tables.event_feeds?.rows,
})

/** Their rows are not part of a backup. */
const unlogged = ['presences', 'rate_limits', 'wakeups']
