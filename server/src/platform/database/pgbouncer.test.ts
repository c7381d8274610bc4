import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { beforeEach, expect, type TestContext, test } from 'vitest'
import { checkDatabase } from './check.ts'
import { connect } from './connect.ts'
import { serverAccount } from '../operations/embedded-postgres/server-account.ts'
import { Database } from './database.ts'
import { migrate } from './migrate.ts'
import { sql } from '../model/sql.ts'
import { StartError } from './start-error.ts'
import { migrationsFolder } from '../../release.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'

const program = '/usr/sbin/pgbouncer'

beforeEach((context) => {
  if (existsSync(program)) return
  if (process.env.CI) throw new Error('PgBouncer is not installed.')
  context.skip('PgBouncer is not installed')
})

/** Creates an empty database and a PgBouncer with these settings in front of it. */
async function startPgBouncer({ onTestFinished }: TestContext, settings: Record<string, string | number>) {
  const { connection, drop } = await createEmptyDatabase()
  onTestFinished(drop)
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeConfiguration(folder, connection, settings)
  const account = serverAccount()
  if (account) await chown(folder, account.uid, account.gid)
  const child = spawn(program, [join(folder, 'pgbouncer.ini')], { ...account, cwd: '/', stdio: 'ignore' })
  onTestFinished(() => kill(child))
  // The socket's file exists before PgBouncer listens.
  await until('PgBouncer listens', () => isListening(join(folder, '.s.PGSQL.6432')))
  return { direct: connection, pooled: { ...connection, host: folder, port: 6432 } }
}

async function writeConfiguration(
  folder: string,
  { host, port, user, database }: TestDatabase['connection'],
  settings: Record<string, string | number>,
): Promise<void> {
  const all = {
    unix_socket_dir: folder,
    listen_port: 6432,
    auth_type: 'trust',
    auth_file: join(folder, 'users.txt'),
    logfile: join(folder, 'pgbouncer.log'),
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const target = `${database} = host=${host} port=${port} dbname=${database} user=${user}`
  await writeFile(join(folder, 'users.txt'), `"${user}" ""\n`)
  await writeFile(join(folder, 'pgbouncer.ini'), `[databases]\n${target}\n[pgbouncer]\n${lines.join('\n')}\n`)
  await chmod(folder, 0o755)
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

async function execute(connection: pg.ClientConfig, statement: string): Promise<void> {
  const client = await connect(connection)
  await client.query(statement).finally(() => client.end())
}

const startErrorMessage = async (connection: pg.ClientConfig): Promise<string> => {
  const error = await checkDatabase(connection, 'assumed').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

for (const [name, settings] of Object.entries({
  'that ignores session settings': { ignore_startup_parameters: 'options' },
  'that rejects session settings': {},
  'with a single backend': { default_pool_size: 1 },
  'that uses its backends in turn': { server_round_robin: 1 },
})) {
  test(`a PgBouncer in transaction mode ${name} is rejected with advice`, async (context) => {
    const { pooled } = await startPgBouncer(context, { pool_mode: 'transaction', ...settings })
    // Makes PgBouncer open several backends where it can.
    await Promise.all([1, 2, 3, 4].map(() => execute(pooled, 'select pg_sleep(0.05)')))
    const message = await startErrorMessage(pooled)
    expect(message).toContain('transaction mode')
    expect(message).toContain('pool_mode = session')
  })
}

test('a PgBouncer in statement mode is rejected', async (context) => {
  const { pooled } = await startPgBouncer(context, { pool_mode: 'statement' })
  expect(await startErrorMessage(pooled)).toContain('pool_mode = session')
})

test('a database can be migrated and used behind a PgBouncer in session mode that preserves the limits', async (context) => {
  const { direct, pooled } = await startPgBouncer(context, {
    pool_mode: 'session',
    ignore_startup_parameters: 'options',
  })
  await execute(direct, `alter role ${direct.user} in database ${direct.database} set statement_timeout = '3500ms'`)
  await checkDatabase(pooled, 'assumed')
  const { applied } = await migrate(pooled, { folder: migrationsFolder, log: () => undefined })
  expect(applied.length).toBeGreaterThan(0)
  const database = new Database({ connection: pooled, size: 4 })
  context.onTestFinished(() => database.close())
  const rows = await database.crossTenantQuery(
    'check the database',
    sql`select count(*)::int as count from schema_migrations`,
  )
  expect(rows).toEqual([{ count: applied.length }])
})

for (const [name, settings] of Object.entries({
  ignores: { ignore_startup_parameters: 'options' },
  rejects: {},
})) {
  test(`a PgBouncer in session mode that ${name} the session limits is rejected with advice`, async (context) => {
    const { pooled } = await startPgBouncer(context, { pool_mode: 'session', ...settings })
    const message = await startErrorMessage(pooled)
    expect(message).toContain('ignore_startup_parameters = options')
    expect(message).toContain('set statement_timeout')
  })
}

const isListening = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection(path)
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('connect', () => socket.destroy())
  })
