import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { connect as connectSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, type TestContext } from 'vitest'
import { freePort } from '../../../lab/shared/free-port.ts'
import { databaseUrlOf, entry, launch, run, waitForExit } from '../../test/command-line.ts'
import { query, serversIn } from '../../test/data-directory.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { statusOf } from '../../test/started-service.ts'

import { startConnectionProxy } from '../../test/connection-proxy.ts'
import { startTestService } from '../../test/service.ts'
import { newHome, parseLines, problemsIn } from '../../test/problems.ts'

/** A service process whose log the test reads. */
async function startService(context: TestContext, child: ChildProcess, url: string) {
  let printed = ''
  child.stderr?.on('data', (data: Buffer) => (printed += data.toString()))
  const ended = waitForExit(child)
  context.onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await until(
    'the service is ready',
    async () => child.exitCode !== null || (await statusOf(`${url}/readyz`)) === 200,
    60_000,
  )
  if (child.exitCode !== null) throw new Error(printed)
  return { child, lines: () => parseLines(printed), ended }
}

test('a database that dies is one error with its cause in the log of a service without background work, and its return is logged', async (context) => {
  const database = await createDatabase()
  const proxy = await startConnectionProxy(database)
  const service = await startTestService({}, { connection: proxy.connection, drop: () => Promise.resolve() })
  context.onTestFinished(async () => {
    await service.close()
    await proxy.close()
    await database.drop()
  })
  const lines = () => parseLines(service.logged.join(''))
  await until(
    'the service has examined its database',
    async () => (await service.anonymous('GET', '/readyz')).status === 200,
  )
  proxy.goOffline()
  await until('the log has the error', () => problemsIn(lines(), 'unavailable').length > 0, 30_000)
  for (let count = 0; count < 12; count++) await service.anonymous('GET', '/readyz')
  const refused = proxy.refused()
  await until('two more checks have failed', () => proxy.refused() >= refused + 2, 60_000)
  expect(problemsIn(lines(), 'unavailable')).toEqual([
    expect.objectContaining({
      msg: 'The database is unavailable.',
      error: expect.any(String),
      remedy: expect.stringContaining('Check that PostgreSQL is running'),
    }),
  ])
  proxy.goOnline()
  await until(
    'the log says that it is over',
    () => lines().some(({ msg, problem }) => problem === 'unavailable' && /over/.test(msg)),
    30_000,
  )
}, 120_000)

test('an embedded database that does not start again is an error with its log, once', async (context) => {
  const home = await newHome(context)
  const environment = { DATA_DIR: join(home, 'data'), PORT: String(await freePort()) }
  const url = `http://127.0.0.1:${environment.PORT}`
  const { lines } = await startService(context, launch(['start'], { environment }), url)
  const configuration = await open(join(home, 'data/postgres/postgresql.conf'), 'a')
  await configuration.write('\nno_such_setting = on\n')
  await configuration.close()
  for (const pid of await serversIn(home)) process.kill(pid, 'SIGKILL')
  const failures = () => lines().filter(({ level, msg }) => level === 50 && msg.includes('does not start'))
  await until('the log has the error', () => failures().length > 0, 30_000)
  const attempts = async () => (await readFile(join(home, 'data/postgres.log'), 'utf8')).split('no_such_setting').length
  const before = await attempts()
  await until('it has tried twice more', async () => (await attempts()) >= before + 2, 30_000)
  expect(failures()).toHaveLength(1)
  expect(failures()[0]?.msg).toContain('no_such_setting')
  expect(lines().find(({ msg }) => msg.includes('stopped unexpectedly'))?.level).toBe(50)
}, 120_000)

test('damaged pages are 503 data_damaged, one error in the log, and a finding of the doctor', async (context) => {
  const home = await newHome(context)
  const environment = { DATA_DIR: join(home, 'data'), PORT: String(await freePort()), IMPORT_WORKERS: '0' }
  const url = `http://127.0.0.1:${environment.PORT}`
  const first = await startService(context, launch(['start'], { environment }), url)
  const bootstrapped = await run(
    ['bootstrap', '--email', 'owner@example.com', '--organization', 'Acme', '--password-stdin', '--json'],
    { environment, input: 'a password that is long enough' },
  )
  const { apiKey, organizationId } = JSON.parse(bootstrapped.output) as { apiKey: string; organizationId: string }
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'service-organization-id': organizationId,
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ firstName: 'Ada', email: `${randomUUID()}@example.com` })
  expect((await fetch(`${url}/v5/contacts`, { method: 'POST', headers, body })).status).toBe(201)
  const host = join(home, 'data/sockets')
  const rows = await query(
    { host, port: 5432, user: 'rapport_service', database: 'rapport' },
    `select pg_relation_filepath('contacts') as path`,
  )
  first.child.kill('SIGTERM')
  await first.ended
  const file = await open(join(home, 'data/postgres', String(rows[0]?.path)), 'r+')
  for (let page = 0; page * 8192 < (await file.stat()).size; page++)
    await file.write(Buffer.alloc(16, 7), 0, 16, page * 8192 + 8000)
  await file.close()
  const { lines } = await startService(context, launch(['start'], { environment }), url)
  for (let count = 0; count < 3; count++) {
    const response = await fetch(`${url}/v5/contacts`, { headers })
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([503, 'data_damaged'])
  }
  await until('the log has the error', () => problemsIn(lines(), 'damage').length > 0)
  expect(problemsIn(lines(), 'damage')).toEqual([
    expect.objectContaining({
      msg: 'Part of the data is damaged and cannot be read.',
      remedy: expect.stringContaining('Copy the data folder away first'),
    }),
  ])
  const examined = await run(['doctor'], { environment })
  expect(examined.code).toBe(1)
  expect(examined.output).toMatch(/^WRONG {2}checksums: PostgreSQL has read damaged pages \d+ times/m)
}, 120_000)

test('a service that runs out of open files says so, and so does the doctor', async (context) => {
  const database = await createDatabase()
  context.onTestFinished(() => database.drop())
  const home = await newHome(context)
  const environment = {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: databaseUrlOf(database),
    DATABASE_DURABILITY: 'assumed',
    DATA_DIR: home,
    PORT: String(await freePort()),
  }
  const child = spawn('bash', ['--norc', '-c', `ulimit -n 100; exec ${process.execPath} ${entry} start`], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { lines } = await startService(context, child, `http://127.0.0.1:${environment.PORT}`)
  const sockets: Socket[] = Array.from({ length: 100 }, () =>
    connectSocket(Number(environment.PORT), '127.0.0.1').on('error', () => undefined),
  )
  context.onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
  await until('the log has the error', () => problemsIn(lines(), 'open files').length > 0, 20_000)
  expect(problemsIn(lines(), 'open files')[0]?.remedy).toContain('LimitNOFILE=65536')
  const { output } = await run(['doctor'], { environment })
  expect(output).toMatch(
    /^WRONG {2}open files: the service \(process \d+\) has \d+ of at most 100 open\n {7}→ .*ulimit -n/m,
  )
}, 60_000)

test('a clock that is an hour off is one error in the log, and a finding of the doctor', async (context) => {
  const database = await createDatabase()
  context.onTestFinished(() => database.drop())
  const home = await newHome(context)
  const environment = {
    DATABASE_URL: databaseUrlOf(database),
    DATA_DIR: home,
    PORT: String(await freePort()),
    NODE_OPTIONS: `--import ${fileURLToPath(new URL('../../../lab/faults/shifted-clock.mjs', import.meta.url))}`,
    FAULTS_CLOCK_SHIFTS: '3600000',
    DATABASE_DURABILITY: 'assumed',
    PATH: process.env.PATH ?? '',
  }
  const { child, lines } = await startService(
    context,
    spawn(process.execPath, [entry, 'start'], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] }),
    `http://127.0.0.1:${environment.PORT}`,
  )
  child.kill('SIGUSR2')
  await until('the log has the error', () => problemsIn(lines(), 'clocks').length > 0, 20_000)
  expect(problemsIn(lines(), 'clocks')[0]).toMatchObject({
    msg: expect.stringMatching(/^The clock of this machine is 3[56]\d\d s ahead of the clock of the database\.$/),
    remedy: expect.stringContaining('NTP'),
  })
  await query(
    database.connection,
    `with made as (insert into organizations (id, name, slug) values (gen_random_uuid(), 'Acme', 'acme') returning id)
     insert into audit_events (organization_id, id, action, actor_kind, created_at) select id, gen_random_uuid(), 'session.started', 'command', now() + interval '1 hour' from made`,
  )
  const { output } = await run(['doctor'], { environment: { ...environment, NODE_OPTIONS: '' } })
  expect(output).toMatch(
    /^WRONG {2}clocks: .*, but the audit log has an event of .*\n {7}→ The clock is wrong now, or was wrong then\./m,
  )
}, 60_000)
