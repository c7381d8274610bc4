import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { checkSnapshot } from '../src/platform/operations/backup/read.ts'
import { secret } from './backups.ts'
import { createCitusDatabase } from './citus-database.ts'
import { databaseUrlOf, run } from './command-line.ts'
import { isDistributed } from './engines.ts'
import { newFullLead } from './import-audit.ts'
import { goodPassword, newEmail, tokenInLink } from './people.ts'
import { until } from './processes.ts'
import type { Json } from './service.ts'
import { type StartedService, startIn } from './started-service.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp()
})

describe.skipIf(!isDistributed())('on Citus (TEST_ENGINE=citus and CITUS_FILES)', () => {
  test('a filled installation moves to Citus by the steps of the guide and loses nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rapport-move-'))
    cleanUps.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
    const file = (name: string) => join(folder, name)
    const single = { DATA_DIR: file('data'), SECRET: secret, RATE_LIMIT_PER_MINUTE: '1000000' }
    const service = await startIn({ folder, cleanUps }, single)
    const filled = await fill(service, single)
    const before = await answersOf(service, filled)
    service.signal('SIGTERM')
    await service.ended
    expect(await run(['backup', file('before')], { environment: single })).toMatchObject({ code: 0 })

    const database = await createCitusDatabase()
    cleanUps.push(() => database.drop())
    const onCitus = { ...single, DATABASE_URL: databaseUrlOf(database), DATA_DIR: file('new') }
    const restored = await run(['restore', file('before')], { environment: onCitus })
    expect(restored).toMatchObject({ code: 0 })
    expect(restored.errors).toContain(
      'To distribute them, stop all services and run `node bin/rapport.js migrate --distribute`.',
    )
    expect(await run(['migrate', '--distribute'], { environment: onCitus })).toMatchObject({ code: 0 })
    expect(await run(['backup', file('after')], { environment: onCitus })).toMatchObject({ code: 0 })
    const [sums, newSums] = [await sumsOf(file('before')), await sumsOf(file('after'))]
    expect(newSums).toEqual(sums)
    expect(Object.keys(sums).filter((table) => sums[table]?.rows)).toEqual(expect.arrayContaining(filledTables))

    const moved = await startIn({ folder, cleanUps }, onCitus)
    expect(await answersOf(moved, filled)).toEqual(before)
    const { rows } = await pushLead(moved, filled)
    expect(rows).toBe(before.rows + 1)
  }, 300_000)
})

/** Tables with rows, so that the comparison means something. */
const filledTables = [
  ...['contacts', 'contact_external_ids', 'contact_renderings', 'companies', 'employments', 'deals', 'stage_moves'],
  ...['notes', 'tasks', 'campaigns', 'imports', 'import_rows', 'import_secrets', 'import_triggers', 'audit_events'],
  ...['organizations', 'members', 'users', 'sessions', 'api_keys', 'invitations', 'teams', 'idempotency_answers'],
]

/** Of every table except `instance`, which contains the time of the latest backup. */
async function sumsOf(file: string) {
  const { instance: _, ...sums } = (await checkSnapshot(file)).sums.tables
  return sums
}

interface Filled {
  apiKey: string
  organizationId: string
  triggerUrl: string
  importId: string
  emails: string[]
}

async function send(url: string, method: string, { token, body, ...headers }: Record<string, unknown> = {}) {
  const response = await fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${String(token)}` }),
      ...(headers as Record<string, string>),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as Json
}

/** Two members, and records of every kind. */
async function fill({ url }: StartedService, environment: Record<string, string>): Promise<Filled> {
  const made = await run(['demo', '--contacts', '150', '--password', goodPassword, '--json'], { environment })
  expect(made).toMatchObject({ code: 0 })
  const demo = JSON.parse(made.output) as Json
  const { accessToken: token } = await logIn(url, demo.email)
  await send(`${url}/v5/campaigns`, 'POST', {
    token,
    body: { name: 'Spring', status: 'draft' },
    'idempotency-key': 'spring',
  })
  const member = newEmail()
  await send(`${url}/v5/invitations`, 'POST', { token, body: { email: member, role: 'member' } })
  await send(`${url}/v5/invitations`, 'POST', { token, body: { email: newEmail(), role: 'member' } })
  const link = await invitationOf(url, token, member)
  await send(`${url}/auth/invitations/accept`, 'POST', {
    body: { token: tokenInLink(link), name: 'Grace', password: goodPassword },
  })
  const filled = { ...demo, emails: [demo.email, member] } as Filled
  for (let count = 1; count <= 20; count++) await pushLead({ url }, filled)
  await until('the rows are processed', async () => {
    const rows = await list(url, filled, `imports/${filled.importId}/rows`)
    return rows.length === 20 && rows.every(({ status }) => status === 'PROCESSED')
  })
  return filled
}

async function invitationOf(url: string, token: string, email: string): Promise<string> {
  let link = ''
  await until('the mail is composed', async () => {
    const mails = await send(`${url}/v5/mails?kind=invitation`, 'GET', { token })
    const mail = mails.find(({ recipient }: Json) => recipient === email)
    const content = await send(`${url}/v5/mails/${mail?.id}/content`, 'GET', { token }).catch(() => undefined)
    link = content?.links[0] ?? ''
    return link !== ''
  })
  return link
}

const logIn = (url: string, email: string): Promise<Json> =>
  send(`${url}/auth/login`, 'POST', { body: { email, password: goodPassword } })

const list = (url: string, { apiKey, organizationId }: Filled, path: string): Promise<Json[]> =>
  send(`${url}/v5/${path}${path.endsWith('/count') ? '' : '?limit=100'}`, 'GET', {
    token: apiKey,
    'service-organization-id': organizationId,
  })

/** Pushes to the path of the trigger URL; returns the number of rows of the import. */
async function pushLead({ url }: { url: string }, filled: Filled): Promise<{ rows: number }> {
  await send(`${url}${new URL(filled.triggerUrl).pathname}`, 'POST', { body: newFullLead() })
  return { rows: (await list(url, filled, `imports/${filled.importId}/rows`)).length }
}

/** What the API returns for the API key and to each member. */
async function answersOf({ url }: StartedService, filled: Filled) {
  const lists: Record<string, Json[]> = {}
  for (const path of ['contacts', 'companies', 'deals', 'campaigns', 'notes', 'tasks', 'imports', 'pipelines', 'teams'])
    lists[path] = await list(url, filled, path)
  const own: Json[] = []
  for (const email of filled.emails) {
    const { accessToken: token } = await logIn(url, email)
    const { name, id } = await send(`${url}/v5/me`, 'GET', { token })
    own.push({ name, id, contacts: await send(`${url}/v5/contacts?limit=100`, 'GET', { token }) })
  }
  const rows = (await list(url, filled, `imports/${filled.importId}/rows`)).length
  return { lists, own, rows, contacts: await list(url, filled, 'contacts/count') }
}
