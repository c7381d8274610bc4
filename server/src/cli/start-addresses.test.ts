import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitForExit, launch, run, databaseUrlOf } from '../../test/command-line.ts'
import { createDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { freePort } from '../../../lab/shared/free-port.ts'
import { type StartedService, startIn, statusOf } from '../../test/started-service.ts'
import { openEmbedded } from '../platform/operations/embedded-postgres/embedded.ts'

// Ports, files and addresses of a start, and what commands know about them.

let folder: string
const clean: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-environments-'))
  await chmod(folder, 0o755)
})
afterEach(async () => {
  for (const step of clean.splice(0).reverse()) await step()
  await rm(folder, { recursive: true, force: true })
})

const start = (environment: Record<string, string>): Promise<StartedService> =>
  startIn({ folder, cleanUps: clean }, environment)

test('a second service with DATABASE_URL keeps the service.json of the first until that crashes', async () => {
  const first = await start({})
  const file = join(folder, 'data/service.json')
  const note = () => readFile(file, 'utf8').then((text) => (JSON.parse(text) as { url: string }).url)
  await until('the first one is announced', async () => (await note().catch(() => '')) === first.url)
  const database = await createDatabase()
  clean.unshift(() => database.drop())
  // The secret of the folder belongs to the first service.
  const other = { DATABASE_URL: databaseUrlOf(database), SECRET: 'another secret of enough characters' }
  const second = await start(other)
  await until('it is ready', () => second.printed().includes('Rapport listens on'))
  expect(await note()).toBe(first.url)
  second.signal('SIGTERM')
  expect((await second.ended).errors).toContain('service.json of another service')
  expect(await note()).toBe(first.url)
  first.signal('SIGKILL')
  await first.ended
  const third = await start(other)
  await until('the third one is announced', async () => (await note().catch(() => '')) === third.url)
  third.signal('SIGTERM')
  await third.ended
  await expect(stat(file)).rejects.toThrow('ENOENT')
})

test('a command without the settings of the running service prints its addresses', async () => {
  const database = await createDatabase()
  clean.unshift(() => database.drop())
  const settings = { PUBLIC_URL: 'https://crm.example.com', AUTH_ORIGIN: 'https://auth.example.com' }
  const shared = { DATABASE_URL: databaseUrlOf(database), SECRET: 'one secret for every service on it, long enough' }
  // With DATABASE_URL, the command uses another data folder, as on another machine.
  const environments: [Record<string, string>, Record<string, string>][] = [
    [{}, { DATA_DIR: join(folder, 'data') }],
    [shared, { ...shared, DATA_DIR: join(folder, 'other') }],
  ]
  for (const [serviceEnvironment, commandEnvironment] of environments) {
    const service = await start({ ...serviceEnvironment, ...settings })
    await until('it has said where it is', () => service.printed().includes('Rapport listens on'))
    expect(service.printed()).toMatch(/^ {2}https:\/\/auth\.example\.com\/account#set-up=/m)
    const runJson = async (words: readonly string[]) => {
      const { code, output, errors } = await run(words, {
        environment: commandEnvironment,
        input: 'a password that is long enough',
      })
      expect([code, errors]).toEqual([0, ''])
      return JSON.parse(output) as Record<string, string>
    }
    const created = await runJson([
      'bootstrap',
      '--email',
      'ada@example.com',
      '--password-stdin',
      '--organization',
      'Acme',
      '--json',
    ])
    expect(created).toMatchObject({
      baseUrl: 'https://crm.example.com/v5',
      authUrl: 'https://auth.example.com',
      teamBaseUrl: 'https://crm.example.com',
      triggerUrl: expect.stringMatching(/^https:\/\/crm\.example\.com\/v5\/imports\//),
    })
    const named = ['--organization', 'Acme', '--json']
    const trigger = expect.stringMatching(/^https:\/\/crm\.example\.com\/v5\/imports\//)
    expect(await runJson(['import', 'create', '--name', 'Web', ...named])).toMatchObject({ triggerUrl: trigger })
    expect(await runJson(['import', 'rotate', '--import', 'Web', ...named])).toMatchObject({ triggerUrl: trigger })
    service.signal('SIGTERM')
    await service.ended
  }
})

test('without a running service, a command prints the address where one would listen', async () => {
  const environment = { DATA_DIR: join(folder, 'data') }
  const service = await start({ PUBLIC_URL: 'https://crm.example.com' })
  await until('it has said where it is', () => service.printed().includes('Rapport listens on'))
  service.signal('SIGTERM')
  await service.ended
  const words = ['bootstrap', '--email', 'ada@example.com', '--password-stdin', '--organization', 'Acme', '--json']
  const { output } = await run(words, {
    environment: { ...environment, PORT: '4321' },
    input: 'a password that is long enough',
  })
  expect(JSON.parse(output)).toMatchObject({ baseUrl: 'http://127.0.0.1:4321/v5', authUrl: 'http://127.0.0.1:4321' })
})

test('while the database is being opened, the service listens and returns 503', async () => {
  const dataFolder = join(folder, 'data')
  const holder = await openEmbedded({ dataFolder, purpose: 'rapport test', log: () => undefined })
  clean.push(() => holder.close())
  const [port, metricsPort] = [await freePort(), await freePort()]
  const environment = { PORT: String(port), METRICS_PORT: String(metricsPort), DATA_DIR: dataFolder }
  const child = launch(['start'], { environment })
  const ended = waitForExit(child)
  clean.push(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await until('it has the port', async () => (await statusOf(`${url}/readyz`)) !== 0)
  const response = await fetch(`${url}/v5/contacts`)
  expect([response.status, response.headers.get('retry-after'), response.headers.get('connection')]).toEqual([
    503,
    '1',
    'close',
  ])
  expect(await response.json()).toMatchObject({
    status: 503,
    code: 'overloaded',
    description: expect.stringContaining('starting'),
  })
  expect(await statusOf(`http://127.0.0.1:${metricsPort}/metrics`)).toBe(503)
  await holder.close()
  const isReady = until('it is ready', async () => (await statusOf(`${url}/readyz`)) === 200)
  // If it ended instead, the output would show why.
  expect(await Promise.race([isReady, ended])).toBeUndefined()
  expect(await statusOf(`http://127.0.0.1:${metricsPort}/metrics`)).toBe(200)
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
  expect(await statusOf(`${url}/healthz`)).toBe(0)
})
