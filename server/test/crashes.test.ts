import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { livePostmaster } from '../src/platform/database/postmaster.ts'
import { ending, launch, run } from './command-line.ts'
import { until } from './processes.ts'

// The service as a user runs it: a process of its own, with a data folder and the embedded database, durable.
const root = fileURLToPath(new URL('../..', import.meta.url))

let folder: string
let environment: Record<string, string>
const running = new Set<ChildProcess>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-crash-'))
  await chmod(folder, 0o711)
  environment = { PORT: '0', DATA_DIR: join(folder, 'data'), RATE_LIMIT_PER_MINUTE: '10000000' }
})
afterEach(async () => {
  for (const child of running) child.kill('SIGTERM')
  await Promise.all([...running].map((child) => ending(child)))
  const pid = await livePostmaster(join(folder, 'data/postgres'))
  if (pid !== undefined) process.kill(pid, 'SIGQUIT')
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

async function start(spawned = launch(['start'], { environment })): Promise<{ child: ChildProcess; url: string }> {
  running.add(spawned)
  spawned.once('exit', () => running.delete(spawned))
  let isOver = false
  spawned.once('exit', () => {
    isOver = true
  })
  let url = ''
  await until(
    'the service is ready',
    async () => {
      if (isOver) throw new Error(`It ended: ${JSON.stringify(await ending(spawned))}`)
      url = await readFile(join(folder, 'data/service.json'), 'utf8').then(
        (text) => (JSON.parse(text) as { url: string }).url,
        () => '',
      )
      return url !== '' && (await statusOf(`${url}/readyz`)) === 200
    },
    30_000,
  )
  return { child: spawned, url }
}

const statusOf = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  )

interface Account {
  apiKey: string
  organizationId: string
}

async function bootstrap(): Promise<Account> {
  const words = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--json']
  const made = await run(words, { environment: { ...environment, RAPPORT_PASSWORD: 'a password that is long enough' } })
  return JSON.parse(made.output) as Account
}

const headersOf = ({ apiKey, organizationId }: Account) => ({
  authorization: `Bearer ${apiKey}`,
  'service-organization-id': organizationId,
  'content-type': 'application/json',
})

/** Creates contacts from eight senders until told to stop; a lost answer is repeated with its Idempotency-Key later. */
function load(url: string, account: Account) {
  const acknowledged: string[] = []
  const unknown: { email: string; key: string }[] = []
  let isOver = false
  const done = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const one = { email: `${randomUUID()}@example.com`, key: randomUUID() }
        const status = await create(url, account, one)
        if (status === 201) acknowledged.push(one.email)
        else unknown.push(one)
        if (status === 0) return
      }
    }),
  )
  return { acknowledged, unknown, stop: () => ((isOver = true), done) }
}

const create = (url: string, account: Account, { email, key }: { email: string; key: string }): Promise<number> =>
  fetch(`${url}/v5/contacts`, {
    method: 'POST',
    headers: { ...headersOf(account), 'idempotency-key': key },
    body: JSON.stringify({ email }),
  }).then(
    ({ status }) => status,
    () => 0,
  )

async function stored(url: string, account: Account): Promise<string[]> {
  const emails: string[] = []
  for (let after = ''; ;) {
    const answer = await fetch(`${url}/v5/contacts?limit=100&select[]=id&select[]=email${after}`, {
      headers: headersOf(account),
    })
    const page = (await answer.json()) as { id: string; email: string }[]
    emails.push(...page.map(({ email }) => email))
    const last = page.at(-1)
    if (page.length < 100 || !last) return emails
    after = `&startingAfter=${last.id}`
  }
}

for (const victim of ['the service', 'the service and its PostgreSQL'] as const) {
  test(`kill -9 of ${victim} under load: the next start takes over, nothing acknowledged is lost, nothing happens twice`, async () => {
    const first = await start()
    const account = await bootstrap()
    const writes = load(first.url, account)
    await until('writes are acknowledged', () => writes.acknowledged.length > 50)
    const postmaster = await livePostmaster(join(folder, 'data/postgres'))
    first.child.kill('SIGKILL')
    if (victim !== 'the service') process.kill(postmaster ?? 0, 'SIGKILL')
    await writes.stop()

    const began = performance.now()
    const second = await start()
    expect(performance.now() - began).toBeLessThan(30_000)
    const found = await stored(second.url, account)
    expect(new Set(found).size).toBe(found.length)
    expect(writes.acknowledged.filter((email) => !found.includes(email))).toEqual([])
    const known = new Set([...writes.acknowledged, ...writes.unknown.map(({ email }) => email)])
    expect(found.filter((email) => !known.has(email))).toEqual([])

    // Each unknown outcome, repeated with its key, ends as exactly one contact.
    for (const one of writes.unknown) expect(await create(second.url, account, one)).toBe(201)
    expect((await stored(second.url, account)).sort()).toEqual([...known].sort())
  })
}

test('a SIGTERM to npm reaches the service: not ready first, requests under way end, PostgreSQL stops last', async () => {
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...environment, DRAIN_MILLISECONDS: '1500' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = ending(npm)
  const { url } = await start(npm)
  const slow = connect(Number(new URL(url).port), '127.0.0.1')
  let answer = ''
  slow.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  slow.on('error', () => undefined)
  slow.write(
    'POST /auth HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"token"',
  )
  await until('the slow request has arrived', async () => (await statusOf(`${url}/healthz`)) === 200)
  npm.kill('SIGTERM')
  await until('it says that it is not ready', async () => (await statusOf(`${url}/readyz`)) === 503)
  expect(await livePostmaster(join(folder, 'data/postgres'))).toBeDefined()
  await until('it takes no new connections', async () => (await statusOf(`${url}/healthz`)) === 0)
  slow.write(':"x"}')
  await until('the request under way is answered', () => answer.includes('invalid_token'))
  expect((await end).errors).toContain('Stopped.')
  expect(await livePostmaster(join(folder, 'data/postgres'))).toBeUndefined()
})
