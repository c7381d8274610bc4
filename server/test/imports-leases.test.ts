import { afterEach, beforeEach, expect, test } from 'vitest'
import { serviceActor } from '../src/platform/model/caller.ts'
import { readId } from '../src/platform/model/ids.ts'
import { workOn } from '../src/resources/imports/work/batch.ts'
import { type Claim, claimRows, failRow, releaseRows } from '../src/resources/imports/work/work-store.ts'
import { audit, countsOf, newEffects, troublesOf, untilEnded } from './import-audit.ts'
import { type Gates, makeGates } from './import-gates.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { pusher } from './pushes.ts'
import { startTestService, type TestOrganization, type TestService } from './service.ts'

let made: TestDatabase
let gates: Gates
let service: TestService
let organization: TestOrganization

async function begin(environment: Record<string, string>): Promise<void> {
  service = await startTestService(environment, { ...made, drop: async () => undefined })
  organization = await service.newOrganization()
}

beforeEach(async () => {
  made = await createDatabase()
  gates = await makeGates(made.connection)
})
afterEach(async () => {
  await service.close()
  await gates.end()
  await made.drop()
})

async function pushMany(leads: readonly unknown[]): Promise<string[]> {
  const push = pusher(service, new URL(organization.triggerUrl).pathname)
  const answers = await Promise.all(leads.map((lead) => push(lead)))
  expect(answers.map(({ status }) => status)).toEqual(leads.map(() => 200))
  return answers.map(({ body }) => body.id)
}

const manyEffects = (count: number): unknown[] => Array.from({ length: count }, () => newEffects())

const claim = (leaseSeconds: number): Promise<Claim> =>
  service.database.transaction(serviceActor('work', readId('org', organization.organizationId) ?? ''), (transaction) =>
    claimRows(transaction, { most: 100, leaseSeconds }),
  )

const patience = { attempts: 8, firstDelaySeconds: 1, longestDelaySeconds: 1 }

test('a worker whose lease was taken over writes nothing, ends nothing and gives nothing back', async () => {
  await begin({})
  const accepted = await pushMany(manyEffects(5))
  const late = await claim(0)
  const current = await claim(60)
  expect(late.rowIds).toHaveLength(5)
  expect(current.rowIds).toEqual(late.rowIds)
  await workOn(service.database, late)
  for (const rowId of late.rowIds) await failRow(service.database, { ...late, rowIds: [rowId] }, patience)
  await releaseRows(service.database, late)
  await releaseRows(service.database, { ...late, rowIds: 'all' })
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSING: 5 })
  expect((await organization.call('GET', '/v5/contacts/count')).body).toEqual({ count: 0 })

  await workOn(service.database, current)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  // Nor does the one who has ended them.
  await workOn(service.database, current)
  await workOn(service.database, late)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  expect((await organization.call('GET', '/v5/notes/count')).body).toEqual({ count: 5 })
})

test('a lease that ends while its rows are being written takes them from nobody', async () => {
  await begin({})
  const accepted = await pushMany(manyEffects(5))
  await gates.close('ending')
  const first = await claim(0)
  const working = workOn(service.database, first)
  await gates.stoppedAt('ending')
  expect((await claim(60)).rowIds).toEqual([])
  await gates.open('ending')
  await working
  expect((await claim(60)).rowIds).toEqual([])
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
})

/** Each contact takes a while, and those of one domain fail. */
const slowAndSpoilt = `
  create function spoil() returns trigger language plpgsql as $$ begin
    perform pg_sleep(random() * 0.02);
    if new.email like '%@spoilt.example' then raise exception 'the test refuses this one'; end if;
    return new;
  end $$;
  create trigger spoil before insert on contacts for each row execute function spoil()`

test('eight workers whose leases keep ending: nothing twice, nothing lost', async () => {
  await begin({ IMPORT_WORKERS: '8', IMPORT_LEASE_SECONDS: '1' })
  await gates.query(slowAndSpoilt)
  const spoilt = [1, 2].map((number) => ({ contact: { email: `${number}@spoilt.example`, note: `of ${number}` } }))
  const accepted = await pushMany([...spoilt, ...manyEffects(60)])
  await until(
    'the good ones are done',
    async () => {
      const { PROCESSED = 0, DEAD = 0 } = await countsOf(service, organization)
      return PROCESSED + DEAD >= 60
    },
    120_000,
  )
  // Batches that fell apart outlived their leases, or this proves nothing.
  expect((await troublesOf(service, organization)).losses).toBeGreaterThan(0)
  await audit(service, organization, { accepted })

  await gates.query('drop trigger spoil on contacts')
  const rows = `/v5/imports/${organization.importId}/rows`
  await until(
    'every row is done',
    async () => {
      await organization.call('POST', `${rows}/retry`)
      return (await countsOf(service, organization)).PROCESSED === accepted.length
    },
    60_000,
  )
  await untilEnded(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  expect((await organization.call('GET', '/v5/contacts/count')).body).toEqual({ count: accepted.length })
  expect((await organization.call('GET', '/v5/notes/count')).body).toEqual({ count: accepted.length })
}, 240_000)

test('a batch that met another change is repeated by the one who has its rows', async () => {
  await begin({ IMPORT_WORKERS: '4', IMPORT_LEASE_SECONDS: '3600' })
  // Two of three writes of contacts are told that they met in a circle.
  await gates.query(`
    create sequence meetings;
    create function meet() returns trigger language plpgsql as $$ begin
      if nextval('meetings') % 3 > 0 then raise exception 'met' using errcode = 'deadlock_detected'; end if;
      return null;
    end $$;
    create trigger meet before insert on contacts for each statement execute function meet()`)
  const accepted: string[] = []
  for (let round = 0; round < 6; round++) accepted.push(...(await pushMany(manyEffects(30))))
  await untilEnded(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: accepted.length })
  expect(await troublesOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
}, 180_000)

test('a batch that does not get its turn back after it met another change is given back whole', async () => {
  await begin({ IMPORT_WORKERS: '1', IMPORT_LEASE_SECONDS: '3600' })
  // The first write ends so once somebody is next in turn.
  await gates.query(`
    create sequence meetings;
    create function meet() returns trigger language plpgsql as $$ begin
      if nextval('meetings') > 1 then return null; end if;
      while not exists (select from pg_locks where locktype = 'advisory' and not granted) loop
        perform pg_sleep(0.01);
      end loop;
      raise exception 'met' using errcode = 'deadlock_detected';
    end $$;
    create trigger meet before insert on contacts for each statement execute function meet()`)
  const accepted = await pushMany(manyEffects(5))
  const isWritten = async () => (await gates.query('select from meetings where is_called')).length > 0
  await until('it is being written', isWritten)
  const turn = `hashtextextended('imports of ${readId('org', organization.organizationId)}', 0)`
  await gates.query(`select pg_advisory_lock(${turn})`)
  await until('it is given back', async () => (await countsOf(service, organization)).PENDING === 5)
  await gates.query(`select pg_advisory_unlock(${turn})`)
  await untilEnded(service, organization, accepted.length)
  expect(await audit(service, organization, { accepted })).toEqual({ PROCESSED: 5 })
  expect(await troublesOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
})

test('a row whose contact someone holds for long is done when they let go, and has not failed', async () => {
  await begin({ IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' })
  const lead = { contact: { email: 'held@example.com', bio: 'Found at last' } }
  await organization.call('POST', '/v5/contacts', { body: { email: lead.contact.email } })
  await gates.query('begin')
  await gates.query('select from contacts for update')
  const accepted = await pushMany([lead, ...manyEffects(3)])
  await until('the others are done', async () => (await countsOf(service, organization)).PROCESSED === 3)
  await until('it is given back', async () => (await countsOf(service, organization)).PENDING === 1)
  await gates.query('commit')
  await untilEnded(service, organization, accepted.length)
  expect(await countsOf(service, organization)).toEqual({ PROCESSED: 4 })
  expect(await troublesOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  const { body } = await organization.call('GET', '/v5/contacts?filter.email.equals=held@example.com')
  expect(body).toMatchObject([{ bio: 'Found at last' }])
})

test('a contact that is entered by hand after a batch has looked for it is the one that the lead adds to', async () => {
  await begin({ IMPORT_WORKERS: '2', IMPORT_LEASE_SECONDS: '3600' })
  // The rows' own ends are sent first of all that is written.
  await gates.close('ending')
  const lead = { contact: { email: 'eve@example.com', bio: 'From the fair' }, company: { name: 'Eve Ltd' } }
  const [id] = await pushMany([lead])
  await gates.stoppedAt('ending')
  const byHand = await organization.call('POST', '/v5/contacts', { body: { email: 'Eve@example.com', name: 'Eve' } })
  expect(byHand.status).toBe(201)
  await gates.open('ending')
  await untilEnded(service, organization, 1)
  expect(await troublesOf(service, organization)).toEqual({ losses: 0, attempts: 0 })
  const { body: row } = await organization.call('GET', `/v5/imports/${organization.importId}/rows/${id}`)
  expect(row.changes).toMatchObject([
    { object: 'company', action: 'created' },
    { object: 'contact', action: 'updated', id: byHand.body.id, after: { bio: 'From the fair' } },
  ])
  expect((await organization.call('GET', `/v5/contacts/${byHand.body.id}`)).body).toMatchObject({
    email: 'Eve@example.com',
    name: 'Eve',
    bio: 'From the fair',
    company: { name: 'Eve Ltd' },
  })
})
