import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serviceActor } from '../src/platform/model/caller.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { combinable, sql } from '../src/platform/model/sql.ts'
import { isDistributed } from './engines.ts'
import { createDatabase, testCluster, type TestDatabase } from './postgres.ts'
import { expectRefusal } from './refusals.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

describe.skipIf(!isDistributed())('on Citus', () => {
  let database: TestDatabase
  let service: TestService
  let organization: TestOrganization
  let other: TestOrganization
  let call: Call
  beforeAll(async () => {
    database = await createDatabase()
    service = await startTestService({}, database)
    organization = await service.newOrganization()
    other = await service.newOrganization()
    call = organization.call
  }, 60_000)
  afterAll(() => service?.close())

  const create = async (path: string, body: object, caller = call): Promise<Json> => {
    const { status, text, body: created } = await caller('POST', path, { body })
    expect(status, text).toBe(201)
    return created
  }
  const uuid = (prefix: string, id: string) => decodeId(prefix, id) ?? ''

  test('the value of another record is a conflict that names it, whether it is created, changed or restored', async () => {
    const first = await create('/v5/contacts', { email: 'ada@example.com', externalIds: { billing: 'cus_1' } })
    const second = await create('/v5/contacts', { email: 'grace@example.com' })
    const conflicts = [
      await call('POST', '/v5/contacts', { body: { email: 'ADA@example.com' } }),
      await call('PATCH', `/v5/contacts/${second.id}`, { body: { email: 'ada@example.com' } }),
    ]
    await call('DELETE', `/v5/contacts/${first.id}`)
    const third = await create('/v5/contacts', { email: 'ada@example.com' })
    conflicts.push(await call('POST', `/v5/contacts/${first.id}/restore`))
    for (const conflict of conflicts) expectRefusal(conflict, 409, 'already_exists')
    const ids = conflicts.map(({ body }) => body.details[0].id)
    expect(ids).toEqual([first.id, first.id, third.id])
    await call('PATCH', `/v5/contacts/${second.id}`, { body: { externalIds: { billing: 'cus_2' } } })
    const taken = await call('PATCH', `/v5/contacts/${third.id}`, { body: { externalIds: { billing: 'cus_2' } } })
    expectRefusal(taken, 409, 'already_exists')
    expect(taken.body.details).toMatchObject([{ field: 'externalIds', id: second.id }])
  })

  test('of concurrent creations with the same address, one succeeds and the others are conflicts', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call('POST', '/v5/contacts', { body: { email: 'same@example.com' } })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)])
  })

  test('an outdated revision is refused, and of concurrent changes of one revision exactly one succeeds', async () => {
    const { id } = await create('/v5/companies', { name: 'Engines' })
    const { headers } = await call('GET', `/v5/companies/${id}`)
    const change = (index: number) =>
      call('PATCH', `/v5/companies/${id}`, {
        body: { name: `Engines ${index}` },
        headers: { 'if-match': headers.get('etag') ?? '' },
      })
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => change(index)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412, 412, 412, 412, 412])
    expectRefusal(await change(9), 412, 'precondition_failed')
  })

  test('fifty concurrent requests with one Idempotency-Key create one record', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    // While fifty wait, new ones may be refused before anything is done (admission.ts): clients send them again.
    const send = async () => {
      for (;;) {
        const answer = await call('POST', '/v5/companies', { body: { name: 'Once' }, headers })
        if (answer.status !== 503) return answer
        expectRefusal(answer, 503, 'overloaded')
        await delay(1000 * Number(answer.headers.get('retry-after')))
      }
    }
    const answers = await Promise.all(Array.from({ length: 50 }, send))
    const created = answers.filter(({ status }) => status === 201)
    expect(created.length).toBeGreaterThanOrEqual(1)
    for (const answer of answers) if (answer.status !== 201) expectRefusal(answer, 409, 'idempotency_in_progress')
    const replayed = await send()
    expect([replayed.status, replayed.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(new Set([...created, replayed].map(({ body }) => body.id)).size).toBe(1)
    expect((await call('GET', '/v5/companies/count?filter.name.equals=Once')).body).toEqual({ count: 1 })
  })

  test('changes that lock records in opposite order are repeated until both succeed', async () => {
    const contacts = await Promise.all(['one', 'two'].map((name) => create('/v5/contacts', { name })))
    const ids = contacts.map(({ id }) => uuid('con', id))
    const rename = (order: readonly string[]) => {
      let attempts = 0
      const actor = serviceActor('command', uuid('org', organization.organizationId))
      return service.database
        .transaction(actor, async (transaction) => {
          attempts += 1
          for (const id of order) {
            const statement = sql`update contacts set bio = coalesce(bio, '') || 'x'
              where organization_id = ${transaction.organization} and id = ${id}::uuid returning id`
            await transaction.query(combinable(statement))
            if (attempts === 1) await bothHaveOne(order[0] ?? '')
          }
        })
        .then(() => attempts)
    }
    const waiting = new Map<string, () => void>()
    const bothHaveOne = (own: string) =>
      new Promise<void>((resolve) => {
        waiting.set(own, resolve)
        if (waiting.size === 2) for (const proceed of waiting.values()) proceed()
      })
    const attempts = await Promise.all([rename(ids), rename([...ids].reverse())])
    expect(Math.max(...attempts)).toBeGreaterThan(1)
    for (const { id } of contacts) expect((await call('GET', `/v5/contacts/${id}`)).body.bio).toBe('xx')
  })

  test('a statement on the server of an organization cannot use the records of another one', async () => {
    await create('/v5/campaigns', { name: 'Of the other one' }, other.call)
    const actor = serviceActor('command', uuid('org', organization.organizationId))
    const foreign = uuid('org', other.organizationId)
    const read = service.database.transaction(actor, ({ query, organization: own }) =>
      query(
        combinable(sql`select name from campaigns where organization_id = ${foreign}::uuid and ${own} is not null`),
      ),
    )
    await expect(read).rejects.toThrow('must filter by the distribution argument')
    const write = service.database.transaction(actor, ({ query, organization: own }) =>
      query(
        combinable(sql`update campaigns set name = 'taken'
          where organization_id = ${foreign}::uuid and ${own} is not null returning id`),
      ),
    )
    await expect(write).rejects.toThrow('must filter by the distribution argument')
    const people = service.database.transaction(actor, ({ query, organization: own }) =>
      query(combinable(sql`select email from users where ${own} in (select organization_id from campaigns)`)),
    )
    await expect(people).rejects.toThrow('relation "users" does not exist')
  })

  test('on no server may others call the function that runs statements', async () => {
    for (const host of [database.connection.host, ...(testCluster().workers ?? [])]) {
      const client = new pg.Client({ ...database.connection, host })
      await client.connect()
      const { rows } = await client.query(
        `select coalesce(bool_or(grantee = 0), proacl is null) as is_public
        from pg_proc left join lateral aclexplode(proacl) on true where proname = 'run_in_organization' group by proacl`,
      )
      await client.end()
      expect(rows).toEqual([{ is_public: false }])
    }
  })
})
