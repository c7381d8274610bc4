import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { created, newColleague, untilRead } from '../../test/inbox-fixture.ts'
import { enqueue } from '../../test/mail-queue.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { newImport, type TestImport } from '../../test/pushes.ts'
import { randomOf } from '../../test/import-payloads.ts'
import { seed } from '../../test/seed.ts'
import {
  type ServiceProcess,
  type ServiceProcesses,
  serviceProcesses,
  sharedSecret,
} from '../../test/service-process.ts'
import { startTestService, type TestOrganization, type TestService, withoutBackground } from '../../test/service.ts'
import { resources } from '../app.ts'
import { decodeId, newId } from '../platform/model/ids.ts'
import { emptiedAtOnce } from '../platform/records/write/events.ts'
import { parseSecret } from '../platform/secret/secret.ts'
import { contactRemoval } from './contact-removal.ts'

/** Tables that an erasure writes: it is stopped in front of each of them. */
const written = [
  ...['contacts', 'import_rows', 'refused_pushes', 'events', 'notes', 'tasks', 'employments', 'deal_contacts'],
  ...['contact_renderings', 'idempotency_answers', 'inbox_entries', 'webhook_deliveries', 'mails', 'root_contacts'],
]
const randomKills = 8
/** Milliseconds after which such a kill comes at the latest. */
const longest = 400
/** Tables that maintenance writes when it finishes an erasure whose notes were locked. */
const finished = ['notes', 'events', 'contacts', 'root_contacts']

interface Person {
  word: string
  id: string
  /** The ids (uuids) of the contact and of what is erased with it. */
  records: readonly string[]
}

let testDatabase: TestDatabase
/** Does no work in the background. */
let writer: TestService
let processes: ServiceProcesses
let organization: TestOrganization
let client: pg.Client
let bystander: Person
/** Words that begin those of the people of each test, so that few patterns find them. */
const newGroup = () => `zq${newId().replaceAll('-', '').slice(16)}`
const [stepwise, atRandom, later, other] = [newGroup(), newGroup(), newGroup(), newGroup()]
const people = new Map<string, Person[]>()
let colleague: { userId: string; email: string }
beforeAll(async () => {
  testDatabase = await createDatabase()
  const existing = { ...testDatabase, secret: parseSecret(sharedSecret), drop: async () => undefined }
  writer = await startTestService(withoutBackground, existing)
  processes = await serviceProcesses(testDatabase)
  client = new pg.Client(testDatabase.connection)
  await client.connect()
  const preparing = await startTestService({ IMPORT_WORKERS: '1' }, existing)
  organization = await preparing.newOrganization()
  colleague = await newColleague(preparing, organization)
  const deal = await created(organization.call, '/v5/deals', { name: 'Engine' })
  const groups = [
    [stepwise, written.length, 0],
    [atRandom, randomKills, emptiedAtOnce + 1],
    [later, finished.length, 0],
    [other, 1, 0],
  ] as const
  const one = await newImport(preparing, organization)
  for (const [group, count, events] of groups) {
    const members: Person[] = []
    for (let number = 0; number < count; number++)
      members.push(await newPerson(preparing, one, { word: `${group}n${number}n`, dealId: deal.id, events }))
    people.set(group, members)
  }
  await untilRead(preparing, organization)
  await preparing.close()
  ;[bystander] = people.get(other) as [Person]
  const { apiKey, organizationId } = organization
  const authorization = `Bearer ${apiKey}`
  organization.call = async (method, path, { headers = {} } = {}) =>
    writer.anonymous(method, path, {
      headers: { authorization, 'service-organization-id': organizationId, ...headers },
    })
})
afterAll(async () => {
  await processes.close()
  await writer.close()
  await client.end()
  await testDatabase.drop()
})

const rowsOf = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
const own = () => decodeId('org', organization.organizationId) ?? ''

/** A contact with what belongs to it, and more events: with many of them, an erasure takes several steps. */
async function newPerson(
  service: TestService,
  { push }: TestImport,
  { word, dealId, events }: { word: string; dealId: string; events: number },
): Promise<Person> {
  const { call } = organization
  const email = `${word}@example.com`
  await push({ contact: { email, name: word, note: `From ${word}`, externalIdCrm: word } })
  await push({ contact: { email }, company: { employeesCount: 'many' } })
  let id = ''
  await until('the push is processed', async () => {
    id = (await call('GET', `/v5/contacts?email=${email}`)).body[0]?.id ?? ''
    return id !== ''
  })
  const path = `/v5/contacts/${id}`
  const changed = await call('PATCH', path, { body: { bio: word }, headers: { 'idempotency-key': word } })
  expect(changed.status, changed.text).toBe(200)
  const task = await created(call, '/v5/tasks', { title: word, contactId: id, assigneeId: colleague.userId })
  await created(call, `${path}/notes`, { body: word })
  await created(call, `${path}/employments`, { organization: word, title: word })
  await created(call, `/v5/deals/${dealId}/contacts`, { contactId: id })
  const facts = { what: 'reminder', title: word, path: `/tasks/${task.id}` } as const
  await enqueue(service, { kind: 'reminder', organizationId: own(), recipient: colleague.email, facts })
  const uuid = decodeId('con', id) ?? ''
  await rowsOf(
    `insert into events (organization_id, id, resource, record_id, kind, is_history, revision, source, changes, "values",
        "position", created_at)
      select $1, new_id(), 'contact', $2, 'updated', true, 1, 'person', '[]', json_build_object('bio', $3::text), 0, now()
      from generate_series(1, $4::int)`,
    [own(), uuid, word, events],
  )
  const parts = (contactRemoval(resources).dependents ?? [])
    .filter(({ action, purged }) => action === 'delete' && purged)
    .map(({ table, column }) => `select id from ${table} where organization_id = $1 and ${column} = $2`)
  const parted = await rowsOf(parts.join(' union '), [own(), uuid])
  expect(parted.length).toBeGreaterThan(4)
  return { word, id, records: [uuid, ...parted.map((row) => String(row.id))] }
}

const startApi = (name: string): Promise<ServiceProcess> => processes.start(name, { ROLE: 'api' })

const erase = ({ url }: ServiceProcess, { id, word }: Person): Promise<number | undefined> =>
  fetch(`${url}/v5/contacts/${id}/erase`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${organization.apiKey}`,
      'service-organization-id': organization.organizationId,
      'idempotency-key': `erase-${word}`,
    },
  }).then(
    ({ status }) => status,
    () => undefined,
  )

/** Kills the process of this name when it waits for the table, in the middle of a transaction. */
async function killBefore(table: string, name: string, begin: () => Promise<ServiceProcess>): Promise<void> {
  await client.query(`begin; lock table ${table} in share mode`)
  const isWaiting = async () => {
    // A transaction sees the sessions as they were at its first look.
    await rowsOf('select pg_stat_clear_snapshot()')
    const waiting = await rowsOf(
      `select from pg_locks join pg_stat_activity using (pid)
        where relation = $1::regclass and not granted and application_name = $2`,
      [table, name],
    )
    return waiting.length > 0
  }
  // From the start: a process waits for three seconds at most, and works before it says that it is ready.
  const [victim] = await Promise.all([begin(), until(`the process waits for ${table}`, isWaiting, 60_000)])
  await kill(victim)
  await client.query('rollback')
}

async function kill(victim: ServiceProcess): Promise<void> {
  victim.signal('SIGKILL')
  await victim.ended
}

/** A program repeats a request until it has an answer. */
const repeat = (service: ServiceProcess, person: Person): Promise<void> =>
  until('the request is answered', async () => (await erase(service, person)) === 204)

/** The rows of all tables in which one of these words occurs, without a limit of time: there are many events. */
async function rowsWith(words: readonly string[]): Promise<string[]> {
  const tables = await rowsOf(`select relname as name from pg_class
    where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and relname <> 'wakeups'`)
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await rowsOf(
      `select row from (select to_jsonb(stored)::text as row from "${name}" stored) texts where row ~ $1`,
      [words.join('|')],
    )
    found.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return found.sort()
}

const rowsOfOthers = (): Promise<string[]> => rowsWith([bystander.word, ...bystander.records])

/** Maintenance deletes the rest within minutes: a step that meets a lock is repeated after a minute. */
const longestMaintenance = 150_000

/** Once maintenance has finished, everything is gone, each record is reported once, and nothing else has changed. */
async function expectErased(group: string, others: readonly string[]): Promise<void> {
  const erased = people.get(group) ?? []
  const maintenance = await processes.start(`maintenance of ${group}`, { ROLE: 'work' })
  await until('maintenance has finished', async () => (await rowsWith([group])).length === 0, longestMaintenance)
  // Another test must not meet it.
  await kill(maintenance)
  const ids = erased.flatMap(({ records }) => records)
  const reported = await rowsOf(
    `select record_id as id, count(*)::int as count from events
      where organization_id = $1 and kind = 'erased' and record_id = any($2::uuid[]) group by record_id`,
    [own(), ids],
  )
  expect(reported.map(({ id }) => id).sort()).toEqual(ids.toSorted())
  expect(new Set(reported.map(({ count }) => count))).toEqual(new Set([1]))
  for (const table of ['idempotency_answers', 'inbox_entries'])
    expect(await rowsOf(`select from ${table} where record_id = any($1::uuid[])`, [ids])).toEqual([])
  // The entry of a group, if one of the erased people led it, names somebody who is left.
  const isNewLead = (row: string) => row.startsWith('inbox_entries: ') && !others.includes(row)
  expect((await rowsOfOthers()).filter((row) => !isNewLead(row))).toEqual(others)
}

/** Another process answers the request, again or for the first time, and from then on nobody finds the contact. */
async function continueWith(name: string, person: Person): Promise<ServiceProcess> {
  const successor = await processes.start(name, { ROLE: 'api' })
  await repeat(successor, person)
  expect((await organization.call('GET', `/v5/contacts/${person.id}`)).status).toBe(404)
  return successor
}

test('a process that is killed before any step of an erasure leaves nothing half done', async () => {
  const before = await rowsOfOthers()
  let service = await startApi('first')
  for (const [index, person] of (people.get(stepwise) ?? []).entries()) {
    const victim = service
    await killBefore(written[index] ?? '', victim.name, async () => {
      void erase(victim, person)
      return victim
    })
    service = await continueWith(`successor ${index}`, person)
  }
  await expectErased(stepwise, before)
}, 300_000)

test('the same at random moments', async () => {
  const before = await rowsOfOthers()
  const random = randomOf(seed)
  let service = await startApi('begin')
  for (const [index, person] of (people.get(atRandom) ?? []).entries()) {
    const answer = erase(service, person)
    await Promise.race([answer, delay(random() * longest)])
    await kill(service)
    service = await continueWith(`next ${index}`, person)
  }
  await expectErased(atRandom, before)
}, 300_000)

test('what maintenance was finishing when it was killed is finished by another process', async () => {
  const before = await rowsOfOthers()
  const service = await startApi('requests')
  for (const [index, person] of (people.get(later) ?? []).entries()) {
    await client.query('begin')
    await client.query('select from notes where contact_id = $1 for update', [decodeId('con', person.id)])
    await repeat(service, person)
    await client.query('rollback')
    expect(await rowsWith([person.word])).not.toEqual([])
    const name = `maintenance ${index}`
    await killBefore(finished[index] ?? '', name, () => processes.start(name, { ROLE: 'work' }))
  }
  await expectErased(later, before)
}, 300_000)
