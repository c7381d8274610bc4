import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run, runProcess, databaseUrlOf } from '../../test/command-line.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { type StartedService, startIn, statusOf } from '../../test/started-service.ts'

let folder: string
const clean: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-start-'))
  await chmod(folder, 0o755)
})
afterEach(async () => {
  for (const step of clean.splice(0).reverse()) await step()
  await rm(folder, { recursive: true, force: true })
})

const start = (environment: Record<string, string>): Promise<StartedService> =>
  startIn({ folder, cleanUps: clean }, environment)

const setUpToken = (printed: string): string | undefined => /\/account#set-up=(\S+)/.exec(printed)?.[1]

const setUp = async (url: string, token: string | undefined): Promise<number> => {
  const person = { email: 'ada@example.com', name: 'Ada', organization: 'Engines', password: 'correct horse battery' }
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}/auth/set-up`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...person, token }),
  })
  return response.status
}

test('a first start creates the database, serves, prints the next steps, and stops cleanly', async () => {
  const service = await start({})
  await until('it is ready', async () => (await statusOf(`${service.url}/readyz`)) === 200)
  const running = await run(['doctor', '--json'], { environment: { DATA_DIR: join(folder, 'data') } })
  expect(JSON.parse(running.output)).toMatchObject({ healthy: true })
  await until('it has printed a link', () => setUpToken(service.printed()) !== undefined)
  expect(await setUp(service.url, setUpToken(service.printed()))).toBe(200)
  service.signal('SIGTERM')
  const { code, output } = await service.ended
  expect(code).toBe(0)
  expect(output).toContain(`Rapport listens on ${service.url}\n`)
  expect(output).toContain(`${service.url}/v5/swagger`)
  expect(output).toContain(`${service.url}/docs\n`)
  expect(output).toContain('node bin/rapport.js bootstrap')
  await expect(stat(join(folder, 'data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT')
  await expect(stat(join(folder, 'data/service.json'))).rejects.toThrow('ENOENT')
  expect((await stat(join(folder, 'data/secret'))).mode & 0o777).toBe(0o600)
  // A user exists now.
  const next = await start({})
  await until('it has said where it is', () => next.printed().includes('Rapport listens on'))
  next.signal('SIGTERM')
  const later = await next.ended
  expect(later.output).not.toContain('set-up')
  expect(later.errors).not.toContain('could not be created')
})

test('a schema newer than the code makes the start fail', async () => {
  const database = await createDatabase()
  clean.push(() => database.drop())
  const client = new pg.Client(database.connection)
  await client.connect()
  await client.query(`insert into schema_migrations (version, name, checksum) values (9999, '9999_future.sql', '')`)
  await client.end()
  const environment = { PORT: '0', DATA_DIR: join(folder, 'data'), DATABASE_URL: databaseUrlOf(database) }
  const { code, errors } = await runProcess(['start'], { environment })
  expect(code).toBe(3)
  expect(errors).toContain('9999_future.sql')
})
