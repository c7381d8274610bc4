import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitForExit, launch, run, type RunOptions, databaseUrlOf } from '../../test/command-line.ts'
import { loadSecret } from '../platform/secret/secret.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { type Call, type Json, startTestService, type TestService } from '../../test/service.ts'
import { bodyShape } from '../platform/records/request/body.ts'
import { contacts } from '../crm/contacts/resource.ts'
import { decodeId } from '../platform/model/ids.ts'
import { processNextBatch } from '../intake/work/batch.ts'

const day = '2026-11-21'
const size = 1500

let database: TestDatabase
let client: pg.Client
let service: TestService
let folder: string
let runOptions: RunOptions
let demo: Json
let before: Schema
let call: Call

beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client(database.connection)
  await client.connect()
  folder = await mkdtemp(join(tmpdir(), 'rapport-cli-demo-'))
  // The command uses the same secret, from its data folder.
  const secret = await loadSecret({ dataFolder: folder })
  service = await startTestService({}, { ...database, secret, drop: () => Promise.resolve() })
  runOptions = { environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder, PUBLIC_URL: service.url } }
  before = await schemaOf()
  const { code, output, errors } = await run(
    ['demo', '--contacts', String(size), '--seed', '7', '--day', day, '--json'],
    runOptions,
  )
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  demo = JSON.parse(output)
  call = callerOf(demo)
}, 120_000)
afterAll(async () => {
  await service.close()
  await client.end()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

const callerOf =
  ({ apiKey, organizationId }: Json): Call =>
  (method, path, { headers, ...options } = {}) =>
    service.anonymous(method, path, {
      ...options,
      headers: { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId, ...headers },
    })

interface Schema {
  indexes: string[]
  constraints: string[]
}

/** The definition and validity of every index and constraint. */
async function schemaOf(): Promise<Schema> {
  const { rows: indexes } = await client.query<{ text: string }>(
    `select pg_get_indexdef(indexrelid) || indisvalid || indisready as text from pg_index
      join pg_class on oid = indrelid where relnamespace = 'public'::regnamespace order by 1`,
  )
  const { rows: constraints } = await client.query<{ text: string }>(
    `select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || convalidated as text
      from pg_constraint where connamespace = 'public'::regnamespace order by 1`,
  )
  return { indexes: indexes.map(({ text }) => text), constraints: constraints.map(({ text }) => text) }
}

const found = async (query: Record<string, string>): Promise<Json[]> =>
  (await call('GET', `/v5/contacts?${new URLSearchParams({ limit: '100', ...query })}`)).body

async function everyContact(): Promise<Json[]> {
  const all: Json[] = []
  for (;;) {
    const page = await found(all.length > 0 ? { startingAfter: all.at(-1).id } : {})
    all.push(...page)
    if (page.length < 100) return all
  }
}

test('demo creates a new organization of the requested size and prints its credentials', async () => {
  expect(demo).toMatchObject({ contacts: size, companies: 100, seed: 7, day, email: 'demo@example.com' })
  expect(demo.password).toMatch(/^[\w-]{20}$/)
  const counts = await Promise.all(
    ['contacts', 'companies', 'notes', 'tasks', 'deals'].map(
      async (name) => (await call('GET', `/v5/${name}/count`)).body.count,
    ),
  )
  expect(counts).toEqual([demo.contacts, demo.companies, demo.notes, demo.tasks, demo.deals])
  expect((await call('GET', '/v5/me')).body.email).toBe('demo@example.com')
  const again = await run(
    ['bootstrap', '--email', demo.email, '--password', demo.password, '--organization', 'B'],
    runOptions,
  )
  expect(again).toMatchObject({ code: 0, errors: '' })
})

test('filling an empty database restores all indexes and constraints', async () => {
  expect(before.indexes.length).toBeGreaterThan(50)
  expect(before.constraints.length).toBeGreaterThan(30)
  expect(await schemaOf()).toEqual(before)
})

test('paging through the contacts returns each of them once', async () => {
  const all = await everyContact()
  expect(new Set(all.map(({ id }) => id)).size).toBe(size)
  expect(all.length).toBe(size)
})

test('names in every script are found, and tags and properties work as filters', async () => {
  const scripts = ['Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Han', 'Hiragana', 'Hangul', 'Devanagari', 'Thai']
  const all = await everyContact()
  for (const script of scripts) {
    const letters = new RegExp(`\\p{Script=${script}}`, 'u')
    const one = all.find(({ name }) => letters.test(name ?? ''))
    expect(one, script).toBeDefined()
    expect(
      (await found({ query: one.name })).map(({ id }) => id),
      script,
    ).toContain(one.id)
    expect(
      (await found({ 'filter.name.contains': one.name.slice(1) })).map(({ id }) => id),
      script,
    ).toContain(one.id)
  }
  const { tags } = all.find(({ tags: words }) => words.length > 0)
  const tagged = all.filter((one) => one.tags.includes(tags[0])).map(({ id }) => id)
  expect(
    (await call('GET', `/v5/contacts/count?${new URLSearchParams({ 'filter.tags.has': tags[0] })}`)).body.count,
  ).toBe(tagged.length)
  const planned = all.filter(({ customProperties }) => customProperties.plan === 'enterprise')
  expect(planned.length).toBeGreaterThan(10)
  const counted = await call('GET', '/v5/contacts/count?filter.customProperties.plan.equals=enterprise')
  expect(counted.body.count).toBe(planned.length)
  const withBillingId = all.find(({ externalIds }) => externalIds.billing !== undefined)
  const rival = await call('POST', '/v5/contacts', { body: { name: 'X', externalIds: withBillingId.externalIds } })
  expect(rival.status).toBe(409)
})

test('sending the values of a contact back changes nothing', async () => {
  const writable = Object.keys(bodyShape(contacts, 'update').fields)
  for (const one of (await everyContact()).filter((_, index) => index % 29 === 0)) {
    const stateBefore = await call('GET', `/v5/contacts/${one.id}`)
    const body = Object.fromEntries(writable.map((name) => [name, stateBefore.body[name]]))
    const response = await call('PATCH', `/v5/contacts/${one.id}`, { body })
    expect(response.status, response.text).toBe(200)
    expect({ text: response.text, tag: response.headers.get('etag') }).toEqual({
      text: stateBefore.text,
      tag: stateBefore.headers.get('etag'),
    })
  }
})

test('a push about a person of the demo matches the person and their company', async () => {
  const all = await everyContact()
  const people = all.filter(({ email, company, firstName }) => email && company?.domain && firstName).slice(0, 60)
  const mine = people.filter(({ teamId }) => teamId === demo.teamId)
  for (const { email, firstName, lastName, company } of mine) {
    const lead = { contact: { email, firstName, ...(lastName && { lastName }) }, company: { domain: company.domain } }
    const pushed = await service.anonymous('POST', new URL(demo.triggerUrl).pathname, { body: lead })
    expect(pushed.status, pushed.text).toBe(200)
  }
  const organizationId = decodeId('org', demo.organizationId) ?? ''
  const work = { maxRows: 100, leaseSeconds: 60, onClaimed: () => undefined }
  for (let isMore = true; isMore;) isMore = await processNextBatch(service.database, organizationId, work)
  const { body: rows } = await call('GET', `/v5/imports/${demo.importId}/rows?limit=100`)
  expect(rows.length).toBe(mine.length)
  expect(new Set(rows.map(({ status }: Json) => status))).toEqual(new Set(['DUPLICATE']))
  expect(new Set(rows.map(({ contactId }: Json) => contactId))).toEqual(new Set(mine.map(({ id }) => id)))
})

test('in a database with other organizations, demo keeps their data and the indexes', async () => {
  const idsOf = async () => (await client.query('select indexrelid from pg_index order by 1')).rows
  const [indexes, all] = [await idsOf(), await everyContact()]
  const second = await run(
    ['demo', '--contacts', '40', '--seed', '7', '--day', day, '--organization', 'Zweite Bühne'],
    runOptions,
  )
  expect(second).toMatchObject({ code: 0, errors: '' })
  expect(second.output).toMatch(/^Zweite Bühne is ready: 40 contacts, 3 companies, /)
  expect(second.output).toMatch(/ {2}user {11}zweite-buhne@example\.com\n {2}password {7}\S{20}\n/)
  const [, organizationId, apiKey] = / (org_\w+)[^]* (svc_\w+)/.exec(second.output) ?? []
  const theirs = callerOf({ organizationId, apiKey })
  expect((await theirs('GET', '/v5/contacts/count')).body).toEqual({ count: 40 })
  expect(await idsOf()).toEqual(indexes)
  expect(await everyContact()).toEqual(all)
})

test.each([
  [['--contacts', '0'], /--contacts: "0" is not a whole number from 1 to 1,000,000/],
  [['--contacts', '1000001'], /not a whole number/],
  [['--contacts', '1e3'], /not a whole number/],
  [['--seed', '4294967296'], /--seed: "4294967296" is not a whole number from 0 to 4,294,967,295/],
  [['--day', '2026-02-30'], /--day: "2026-02-30" is not a day/],
])('the arguments %j are refused before anything is created', async (words, expected) => {
  const { code, output, errors } = await run(['demo', ...words], runOptions)
  expect({ code, output }).toEqual({ code: 2, output: '' })
  expect(errors).toMatch(expected)
})

test('demo refuses an existing organization and an existing user without their password', async () => {
  const taken = await run(['demo', '--contacts', '5', '--organization', 'DEMO'], runOptions)
  expect(taken).toMatchObject({ code: 1, output: '' })
  expect(taken.errors).toContain('An organization called "DEMO"')
  const otherOwner = ['demo', '--contacts', '5', '--organization', 'Third', '--email', 'demo@example.com']
  const refused = await run(otherOwner, runOptions)
  expect(refused).toMatchObject({ code: 1, output: '' })
  expect(refused.errors).toContain('this is not their password')
})

test.each(['SIGINT', 'SIGKILL'] as const)(
  'an interruption by %s leaves nothing behind',
  { timeout: 120_000 },
  async (signal) => {
    const empty = await createDatabase()
    const watcher = new pg.Client(empty.connection)
    await watcher.connect()
    const queryValue = async (statement: string): Promise<string> => {
      const { rows } = await watcher.query<{ one: string | null }>(statement)
      return String(rows[0]?.one)
    }
    const state = `select concat(
      (select string_agg(pg_get_indexdef(indexrelid), ';' order by indexrelid::regclass::text) from pg_index
        join pg_class on pg_class.oid = indrelid where relnamespace = 'public'::regnamespace),
      (select string_agg(conname, ';' order by conname) from pg_constraint),
      (select count(*) from organizations), (select count(*) from users), (select count(*) from contacts)) as one`
    const stateBefore = await queryValue(state)
    const environment = { DATABASE_URL: databaseUrlOf(empty), DATA_DIR: folder }
    const child = launch(['demo', '--contacts', '150000'], { environment })
    const ended = waitForExit(child)
    const working = `select count(*) as one from pg_stat_activity
      where application_name = 'rapport demo' and datname = current_database()`
    await until(
      'it copies',
      async () => (await queryValue(`${working} and query like 'copy contacts%'`)) === '1',
      60_000,
    )
    child.kill(signal)
    const { code, errors } = await ended
    if (signal === 'SIGINT') {
      expect(code).toBe(1)
      expect(errors).toContain('Interrupted: nothing was stored.')
    }
    await until('the server gave up', async () => (await queryValue(working)) === '0', 60_000)
    expect(await queryValue(state)).toBe(stateBefore)
    await watcher.end()
    await empty.drop()
  },
)
