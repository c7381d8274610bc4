import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, runProcess } from '../../../test/command-line.ts'
import { query } from '../../../test/data-directory.ts'
import { until } from '../../../test/processes.ts'
import { findBinaries } from '../operations/embedded-postgres/binaries.ts'
import { checkDatabase } from './check.ts'
import {
  clusterConnection,
  initializeCluster,
  type PostgresServer,
  startPostgres,
} from '../operations/embedded-postgres/cluster.ts'
import { Database } from './database.ts'
import { sql } from '../model/sql.ts'
import { StartError } from './start-error.ts'

let folder: string
let server: PostgresServer
let connection: pg.ClientConfig

/** A server with PostgreSQL's defaults: the tests' shared server does not sync to disk. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-durability-'))
  await chmod(folder, 0o755)
  const [cluster, socketFolder] = [join(folder, 'cluster'), join(folder, 'sockets')]
  const binaries = await findBinaries()
  await initializeCluster({ binaries, folder: cluster, sync: false })
  server = await startPostgres({ binaries, folder: cluster, socketFolder, logFile: join(folder, 'log') })
  connection = clusterConnection(socketFolder)
  await query(connection, 'create role plain login')
  await query(connection, 'create database plain owner plain')
  connection = { ...connection, user: 'plain', database: 'plain' }
})
afterAll(async () => {
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true })
})

const administer = (statement: string) => query({ ...connection, user: 'rapport' }, statement)

async function refusal(of: pg.ClientConfig = connection): Promise<string> {
  const error = await checkDatabase(of, 'required').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

/** Reloads the configuration and waits until it applies to new sessions. */
async function configure(name: string, value: 'on' | 'off'): Promise<void> {
  await administer(`alter system set ${name} = ${value}`)
  await administer('select pg_reload_conf()')
  await until(`${name} is ${value}`, async () => (await administer(`show ${name}`))[0]?.[name] === value)
}

test('a database whose commits survive a crash passes without a warning', async () => {
  expect(await checkDatabase(connection, 'required')).toEqual([])
})

test.each(['fsync', 'full_page_writes', 'synchronous_commit'])(
  'a server that runs with %s off is rejected with advice, and accepted with a warning if the operator vouches for it',
  async (name) => {
    await configure(name, 'off')
    const message = await refusal()
    expect(message).toContain(`PostgreSQL runs with ${name} off`)
    expect(message).toContain(`set ${name} = on in postgresql.conf`)
    expect(message).toContain('DATABASE_DURABILITY=assumed')
    expect(await checkDatabase(connection, 'assumed')).toEqual([expect.stringContaining(`${name} off`)])
    await configure(name, 'on')
    expect(await checkDatabase(connection, 'required')).toEqual([])
  },
)

test('all settings that are off are reported at once', async () => {
  await configure('fsync', 'off')
  await configure('full_page_writes', 'off')
  expect(await refusal()).toContain('fsync and full_page_writes off')
  await configure('fsync', 'on')
  await configure('full_page_writes', 'on')
})

test.each([
  ['alter role plain', 'alter role <user> reset synchronous_commit'],
  ['alter database plain', 'alter database <name> reset synchronous_commit'],
  ['alter role plain in database plain', 'alter role <user> in database <name> reset synchronous_commit'],
  ['alter role all', 'alter role all reset synchronous_commit'],
])('synchronous_commit turned off by %s is found, with advice on how to turn it on', async (alter, advice) => {
  await administer(`${alter} set synchronous_commit = off`)
  expect(await refusal()).toContain(advice)
  await administer(`${alter} set synchronous_commit = local`)
  expect(await checkDatabase(connection, 'required')).toEqual([])
  await administer(`${alter} reset synchronous_commit`)
})

test('synchronous_commit turned off by the connection string is found', async () => {
  const { host = '' } = connection
  const options = encodeURIComponent('-c synchronous_commit=off -c statement_timeout=3500')
  const connectionString = `postgres://plain@/plain?host=${encodeURIComponent(host)}&port=5432&options=${options}`
  expect(await refusal({ connectionString })).toContain('remove synchronous_commit from the options in DATABASE_URL')
})

test('the pool leaves durability to the server', async () => {
  const database = new Database({ connection, size: 1 })
  expect(await database.crossTenantQuery('check the database', sql`show synchronous_commit`)).toEqual([
    { synchronous_commit: 'on' },
  ])
  await database.close()
})

test('the service does not start on such a database, the doctor reports it, and the setting allows it', async () => {
  await administer('alter role plain set synchronous_commit = off')
  const { host = '' } = connection
  const environment = {
    DATABASE_URL: `postgres://plain@/plain?host=${encodeURIComponent(host)}&port=5432`,
    DATABASE_DURABILITY: '',
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
  }
  const started = await runProcess(['start'], { environment })
  expect(started.code).toBe(3)
  expect(started.errors).toContain('synchronous_commit off')
  const wrong = JSON.parse((await run(['doctor', '--json'], { environment })).output)
  const message = expect.stringContaining('synchronous_commit off')
  expect(wrong).toMatchObject({ healthy: false })
  expect(wrong.findings).toContainEqual({ name: 'fitness', state: 'wrong', message })
  const allowed = { ...environment, DATABASE_DURABILITY: 'assumed' }
  expect(await run(['migrate'], { environment: allowed })).toMatchObject({ code: 0 })
  const noted = JSON.parse((await run(['doctor', '--json'], { environment: allowed })).output)
  expect(noted).toMatchObject({ healthy: true })
  expect(noted.findings).toContainEqual({ name: 'fitness', state: 'note', message })
  await administer('alter role plain reset synchronous_commit')
}, 60_000)

test('a superuser is accepted with a warning, another role without', async () => {
  const warning = expect.stringContaining('rapport is a superuser')
  expect(await checkDatabase({ ...connection, user: 'rapport' }, 'required')).toEqual([warning])
  expect(await checkDatabase(connection, 'required')).toEqual([])
})
