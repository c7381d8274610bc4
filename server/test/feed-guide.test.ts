import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allPages } from './all-pages.ts'
import { databaseUrlOf, run } from './command-line.ts'
import { createEmptyDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses, sharedSecret } from './service-process.ts'
import type { Json } from './service.ts'
import { root } from './walkthrough.ts'

let folder: string
let database: TestDatabase
let processes: ServiceProcesses
let service: ServiceProcess | undefined
let account: { apiKey: string; organizationId: string }
let program: ChildProcess | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-feed-guide-'))
  database = await createEmptyDatabase()
  processes = await serviceProcesses(database)
  service = await start()
  const args = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--json', '--password-stdin']
  const environment = { DATABASE_URL: databaseUrlOf(database), DATA_DIR: join(folder, 'data'), SECRET: sharedSecret }
  account = JSON.parse((await run(args, { environment, input: 'a password that is long enough' })).output)
  const guide = await readFile(join(root, 'docs/guides/feed.md'), 'utf8')
  const [, text = ''] = /^```js\n(.*?)^```$/ms.exec(guide) ?? []
  await writeFile(join(folder, 'sync.mjs'), text)
})
afterAll(async () => {
  program?.kill('SIGKILL')
  await processes.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** On the same port as before, because the program knows only that. */
const start = () => processes.start('rapport', { PORT: service ? new URL(service.url).port : '0' })

function startProgram(): void {
  const { apiKey: KEY, organizationId: ORGANIZATION } = account
  const environment = { ...process.env, API: `${service?.url}/v5`, KEY, ORGANIZATION }
  program = spawn(process.execPath, ['sync.mjs', 'copy.jsonl'], { cwd: folder, env: environment, stdio: 'inherit' })
}

async function call(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Json; headers: Headers }> {
  const response = await fetch(`${service?.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${account.apiKey}`,
      'service-organization-id': account.organizationId,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}

/** The records in the copy, read as the program reads it. */
async function readCopy(): Promise<Map<string, Json>> {
  const copy = new Map<string, Json>()
  const file = join(folder, 'copy.jsonl')
  if (!existsSync(file)) return copy
  for (const line of (await readFile(file, 'utf8')).split('\n').slice(0, -1)) {
    const { isFirst, records } = JSON.parse(line) as { isFirst?: boolean; records: [string, Json][] }
    if (isFirst) copy.clear()
    for (const [id, record] of records) {
      if (record === null) copy.delete(id)
      else copy.set(id, record)
    }
  }
  return copy
}

const leftOut = ['company', 'pipeline', 'stage', 'lastActivityAt', 'formattedAddress']

/** What is read, without what the feed leaves out. */
async function readRecords(): Promise<Map<string, Json>> {
  const lists = await Promise.all(
    ['contacts', 'companies', 'deals'].map((list) => allPages((path) => call('GET', path), `/v5/${list}`)),
  )
  for (const record of lists.flat()) for (const name of leftOut) delete record[name]
  return new Map(lists.flat().map((record) => [record.id, record]))
}

/** Creates, changes, moves and deletes records until it is stopped; what fails because the service is killed is left. */
function startChanging() {
  const [companies, contacts, deals]: [string[], string[], string[]] = [[], [], []]
  let isStopped = false
  const worker = async (random: number) => {
    for (let step = random; !isStopped; step++) {
      const change = changes[step % changes.length]
      await change?.(step).catch(() => delay(50))
    }
  }
  const created = async (list: string[], path: string, body: object) => {
    const made = await call('POST', path, body)
    if (made.status === 201) list.push(made.body.id)
  }
  const some = (list: string[], step: number) => list[(step * 7) % Math.max(1, list.length)]
  const changes = [
    (step: number) => created(companies, '/v5/companies', { name: `Company ${step}` }),
    (step: number) => created(contacts, '/v5/contacts', { name: `Contact ${step}`, companyId: some(companies, step) }),
    (step: number) => created(deals, '/v5/deals', { name: `Deal ${step}`, companyId: some(companies, step) }),
    (step: number) =>
      call('PATCH', `/v5/contacts/${some(contacts, step)}`, { customProperties: { [`p${step % 5}`]: step } }),
    (step: number) => call('PATCH', `/v5/companies/${some(companies, step)}`, { name: `Renamed ${step}` }),
    (step: number) => call('DELETE', `/v5/contacts/${some(contacts, step)}`),
    (step: number) => call('POST', `/v5/contacts/${some(contacts, step)}/restore`),
    (step: number) => call('PATCH', `/v5/deals/${some(deals, step)}`, { amount: String(step) }),
  ]
  const running = [0, 3, 5].map(worker)
  return {
    stop: async () => {
      isStopped = true
      await Promise.all(running)
    },
  }
}

test(
  'the program of the guide keeps a copy in step while it and the service are killed',
  { timeout: 120_000 },
  async () => {
    for (let number = 0; number < 150; number++) await call('POST', '/v5/companies', { name: `Early ${number}` })
    const writers = startChanging()
    startProgram()
    for (let round = 0; round < 4; round++) {
      const size = (await readCopy()).size
      await until('the copy grows', async () => (await readCopy()).size > size, 30_000)
      if (round % 2 === 0) {
        program?.kill('SIGKILL')
        startProgram()
      } else {
        service?.signal('SIGKILL')
        await service?.ended
        service = await start()
      }
    }
    await writers.stop()
    const records = await readRecords()
    expect(records.size).toBeGreaterThan(160)
    await until('the copy has everything', async () => (await readCopy()).size === records.size, 30_000)
    await until('the copy is the same', async () => isSame(await readCopy(), records), 10_000).catch(() => undefined)
    expect(sorted(await readCopy())).toEqual(sorted(records))
    const exited = program && once(program, 'exit')
    program?.kill('SIGTERM')
    await exited
  },
)

const sorted = (records: Map<string, Json>): Json[] =>
  [...records].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)

const isSame = (copy: Map<string, Json>, records: Map<string, Json>): boolean =>
  [...records].every(([id, record]) => JSON.stringify(copy.get(id)?.updatedAt) === JSON.stringify(record.updatedAt))
