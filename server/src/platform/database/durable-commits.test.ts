import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findBinaries } from '../operations/embedded-postgres/binaries.ts'
import {
  clusterConnection,
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../operations/embedded-postgres/cluster.ts'
import { connect } from './connect.ts'
import { Database } from './database.ts'
import { sql } from '../model/sql.ts'
import { intakePool } from '../../intake/accept/intake.ts'
import { workPool } from '../../intake/work/import-workers.ts'
import { run, databaseUrlOf } from '../../../test/command-line.ts'
import { until } from '../../../test/processes.ts'
import { serviceProcesses } from '../../../test/service-process.ts'

// A cluster with PostgreSQL's default settings: the shared test cluster does not wait for the disk.
let folder: string
let server: PostgresServer
const database = 'durable'

const connectionOf = (name: string) => clusterConnection(join(folder, 'socket'), name)

async function start(): Promise<void> {
  server = await startPostgres({
    binaries: await findBinaries(),
    folder: join(folder, 'data'),
    socketFolder: join(folder, 'socket'),
    logFile: join(folder, 'log'),
    settings: { shared_buffers: '32MB', autovacuum: 'off' },
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-durable-'))
  await chmod(folder, 0o711)
  await initializeCluster({ binaries: await findBinaries(), folder: join(folder, 'data'), sync: false })
  await start()
  const client = await connect(connectionOf('postgres'))
  await client.query(`create database ${database}`)
  await client.end()
})
afterAll(async () => {
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Records each kind of change at its commit, with the value of `synchronous_commit`. */
async function recordCommits(client: pg.Client): Promise<void> {
  await client.query(`
    create table noted_commits (change text, setting text, primary key (change, setting));
    create function note_commit() returns trigger language plpgsql as $$
    begin
      insert into noted_commits values (tg_op || ' ' || tg_table_name, current_setting('synchronous_commit'))
        on conflict do nothing;
      return null;
    end $$;
    do $$
    declare name text;
    begin
      for name in select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
        and relname <> 'noted_commits'
      loop
        execute format('create constraint trigger note_commit after insert or update or delete on %I
          deferrable initially deferred for each row execute function note_commit()', name);
      end loop;
    end $$`)
}

test('every write waits for the disk: of commands, requests, pushes, import workers, logins and mails', async () => {
  const connection = connectionOf(database) as Parameters<typeof databaseUrlOf>[0]['connection']
  const environment = {
    DATABASE_URL: databaseUrlOf({ connection }),
    DATA_DIR: join(folder, 'home'),
    SECRET: 'the same secret for all of them, of 32 characters and more',
  }
  const client = await connect(connection)
  const services = await serviceProcesses({ connection, drop: async () => undefined })
  try {
    expect((await run(['migrate'], { environment })).code).toBe(0)
    await recordCommits(client)
    const password = 'violet engine tandem'
    const args = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Engines', '--password', password]
    const account = JSON.parse((await run([...args, '--json'], { environment })).output)
    const service = await services.start('durable')
    const call = (path: string, body: object, headers = {}) =>
      fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }).then(({ status }) => status)
    const keyHeaders = { authorization: `Bearer ${account.apiKey}`, 'service-organization-id': account.organizationId }
    expect(await call('/v5/companies', { name: 'Engines' }, keyHeaders)).toBe(201)
    expect(await call('/auth/login', { email: 'ada@example.com', password })).toBe(200)
    expect(await call('/auth/forgot-password', { email: 'ada@example.com' })).toBe(202)
    expect(
      (await service.push(new URL(account.triggerUrl).pathname, { contact: { email: 'c@example.com' } }))?.status,
    ).toBe(200)
    const expectedChanges = [
      ...['INSERT organizations', 'INSERT companies', 'INSERT import_rows', 'UPDATE import_rows', 'INSERT contacts'],
      ...['INSERT sessions', 'INSERT pending_events', 'INSERT mails', 'UPDATE mails'],
    ]
    let recorded: { change: string; setting: string }[] = []
    await until('everything is committed', async () => {
      recorded = (await client.query<{ change: string; setting: string }>('select * from noted_commits')).rows
      return (
        expectedChanges.every((change) => recorded.some((one) => one.change === change)) && (await isQueueEmpty(client))
      )
    })
    const changes = (isDurable: boolean) =>
      recorded.filter(({ setting }) => (setting === 'on') === isDurable).map(({ change }) => change)
    expect(changes(true)).toEqual(expect.arrayContaining(expectedChanges))
    // Claims need no durable commit: rows whose claim is lost in a crash are claimed again.
    const ofClaims = /^(?:UPDATE import_rows|(?:INSERT|UPDATE) import_row_counts|INSERT import_turns)$/
    expect(changes(false).filter((change) => !ofClaims.test(change))).toEqual([])
  } finally {
    await services.close()
    await client.end()
  }
})

const isQueueEmpty = async (client: pg.Client): Promise<boolean> =>
  (await client.query(`select from import_rows where status in ('PENDING', 'PROCESSING')`)).rowCount === 0

test.each([
  ['requests', { size: 4, limitConcurrency: true }],
  ['pushes', intakePool],
  ['work and mails', workPool({ importWorkers: 2, reasoningConcurrency: 0 })],
])('commits of the pool for %s survive a crash', async (_, pool) => {
  const client = await connect(connectionOf('postgres'))
  await client.query('create table if not exists confirmed (id uuid)')
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where backend_type = 'walwriter'`,
  )
  await client.end()
  const testedDatabase = new Database({ connection: connectionOf('postgres'), ...pool })
  const ids = [randomUUID(), randomUUID()]
  const insert = (id = '') => sql`insert into confirmed values (${id}::uuid)`
  await testedDatabase.ping()
  // Without the WAL writer, a commit that did not wait for the disk would be lost in the crash.
  process.kill(rows[0]?.pid ?? 0, 'SIGSTOP')
  await testedDatabase.crossTenantQuery('check the database', insert(ids[0]))
  await testedDatabase.crossTenantTransaction('check the database', (spanning) => spanning.query(insert(ids[1])))
  for (const pid of [server.pid, ...childrenOf(server.pid)]) process.kill(pid, 'SIGKILL')
  await server.exited
  await testedDatabase.close().catch(() => undefined)
  // Killed processes release the shared memory with a delay.
  await until('the killed server is gone', () =>
    start().then(
      () => true,
      (error: Error) => {
        if (/pre-existing shared memory/.test(error.message)) return false
        throw error
      },
    ),
  )
  const after = await connect(connectionOf('postgres'))
  const found = await after.query<{ id: string }>('select id from confirmed where id = any($1::uuid[])', [ids])
  await after.end()
  expect(found.rows.map(({ id }) => id).sort()).toEqual(ids.sort())
})

const childrenOf = (pid: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .map(Number)
