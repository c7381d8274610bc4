import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isDistributed } from '../../../test/engines.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { pusher } from '../../../test/pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { identifier, raw, sql } from '../../platform/model/sql.ts'
import { processNextBatch } from '../../intake/work/batch.ts'

let database: TestDatabase
let service: TestService
let organization: TestOrganization
/** In the order of their ids. The contacts work for the first company; the deal has the second contact and company. */
let companies: Json[]
let contacts: Json[]
let deal: Json
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, { ...database, drop: async () => undefined })
  organization = await service.newOrganization()
  companies = [await send('POST', '/v5/companies', { name: 'Engines' })]
  companies.push(await send('POST', '/v5/companies', { name: 'Looms' }))
  contacts = []
  for (const email of ['ada@example.com', 'grace@example.com'])
    contacts.push(await send('POST', '/v5/contacts', { email, companyId: companies[0].id }))
  deal = await send('POST', '/v5/deals', { name: 'Engine', companyId: companies[1].id })
  await send('POST', `/v5/deals/${deal.id}/contacts`, { contactId: contacts[1].id })
})

/** Deadlocks are broken and retried, so no request fails. */
afterAll(async () => {
  await service.close()
  const client = new pg.Client(database.connection)
  await client.connect()
  // Closed connections have reported all their statistics.
  const { rows } = await client.query('select deadlocks::int from pg_stat_database where datname = current_database()')
  await client.end()
  await database.drop()
  expect(rows).toEqual([{ deadlocks: 0 }])
})

async function send(method: string, path: string, body?: object): Promise<Json> {
  const response = await organization.call(method, path, body ? { body } : {})
  expect([path, response.text, response.status < 300]).toEqual([path, response.text, true])
  return response.body
}

const organizationId = (): string => decodeId('org', organization.organizationId) ?? ''

/** A stage in which the deal is. */
async function newStage(): Promise<string> {
  const { id } = await send('POST', `/v5/pipelines/${deal.pipelineId}/stages`, { name: `Stage ${Math.random()}` })
  await send('PATCH', `/v5/deals/${deal.id}`, { stageId: id })
  return id
}

/** Processes a lead about the contact, in another company than their own. */
async function importLead(contact: Json, company: Json): Promise<void> {
  const lead = {
    contact: { email: contact.email, tags: [`tag ${Math.random()}`], note: 'Called' },
    company: { name: company.name, tags: [`tag ${Math.random()}`] },
  }
  expect((await pusher(service, new URL(organization.triggerUrl).pathname)(lead)).status).toBe(200)
  await processNextBatch(service.database, organizationId(), {
    maxRows: 200,
    leaseSeconds: 60,
    onClaimed: () => undefined,
  })
}

const operations: Record<string, { run: () => Promise<unknown>; locks: () => Json[] }> = {
  'a note on a contact': {
    run: () => send('POST', `/v5/contacts/${contacts[1].id}/notes`, { body: 'Called' }),
    locks: () => [contacts[1], companies[0]],
  },
  'a task on a contact': {
    run: () => send('POST', '/v5/tasks', { title: 'Call', contactId: contacts[1].id }),
    locks: () => [contacts[1], companies[0]],
  },
  'a note on a deal': {
    run: () => send('POST', `/v5/deals/${deal.id}/notes`, { body: 'Called' }),
    locks: () => [deal, contacts[1], companies[1]],
  },
  'a task on a deal': {
    run: () => send('POST', '/v5/tasks', { title: 'Call', dealId: deal.id, done: true }),
    locks: () => [deal, contacts[1], companies[1]],
  },
  'a stage move': {
    run: newStage,
    locks: () => [deal, contacts[1], companies[1]],
  },
  'the deletion of a stage': {
    run: async () => {
      const stages = await send('GET', `/v5/pipelines/${deal.pipelineId}/stages?orderBy=position&sort=asc`)
      const { stageId } = await send('GET', `/v5/deals/${deal.id}`)
      await send('DELETE', `/v5/pipelines/${deal.pipelineId}/stages/${stageId}?moveDealsTo=${stages[0].id}`)
    },
    locks: () => [deal, contacts[1], companies[1]],
  },
  'an import': {
    run: () => importLead(contacts[1], companies[1]),
    locks: () => [contacts[1], companies[0], companies[1]],
  },
}

const tables: Readonly<Record<string, string>> = { del: 'deals', con: 'contacts', com: 'companies' }

/** Whether a transaction waits for a lock, on any server. */
async function isWaiting(): Promise<boolean> {
  const activity = raw(isDistributed() ? 'citus_stat_activity' : 'pg_stat_activity')
  const waiting = await service.database.crossTenantQuery(
    'check the database',
    sql`select from ${activity} where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return waiting.length > 0
}

test.each(Object.entries(operations))(
  '%s locks deals before contacts before companies, in id order',
  async (name, operation) => {
    if (name === 'the deletion of a stage') await newStage()
    const locks = operation.locks()
    for (const [index, first] of locks.slice(0, -1).entries()) {
      if (name === 'the deletion of a stage') await newStage()
      const rest = locks.slice(index + 1)
      let running: Promise<unknown> = Promise.resolve()
      await service.database.transaction(serviceActor('work', organizationId()), async (transaction) => {
        const lock = ({ id }: Json, mode: string) =>
          transaction.query(sql`select from ${identifier(tables[id.slice(0, 3)] ?? '')}
          where organization_id = ${transaction.organization} and id = ${decodeId(id.slice(0, 3), id)}::uuid
          for no key update ${raw(mode)}`)
        await lock(first, '')
        running = operation.run()
        await until('the operation waits', isWaiting)
        // It waits for the first record, so it has not locked any of the next ones.
        for (const record of rest) await lock(record, 'nowait')
      })
      await running
    }
  },
)

test('notes, tasks, stage moves and imports on the same records at the same time do not deadlock', async () => {
  for (let round = 0; round < 10; round++) {
    const [one, other] = [contacts[round % 2], companies[round % 2]]
    await newStage()
    await Promise.all([
      importLead(one, other),
      ...Object.entries(operations).flatMap(([name, { run }]) => (name === 'an import' ? [] : [run()])),
      send('POST', `/v5/companies/${other.id}/notes`, { body: 'Called' }),
      send('PATCH', `/v5/deals/${deal.id}`, { amount: String(round) }),
      send('PATCH', `/v5/companies/${other.id}`, { bio: `Round ${round}` }),
      send('PATCH', `/v5/contacts/${one.id}`, { bio: `Round ${round}` }),
    ])
  }
})
