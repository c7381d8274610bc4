import { afterAll, beforeAll, expect, test } from 'vitest'
import { tablesByPlace } from '../../../places.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'
import { serviceActor } from '../../model/caller.ts'
import { newId, decodeId } from '../../model/ids.ts'
import { combinable, Parameter, type Sql, sql } from '../../model/sql.ts'
import type { Transaction } from '../database.ts'
import { citus } from './citus.ts'

// The function that Citus calls on another server exists on every PostgreSQL.

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  service.database.useEngine(citus(tablesByPlace.organization))
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const transact = <Result>(work: (transaction: Transaction) => Promise<Result>): Promise<Result> =>
  service.database.transaction(serviceActor('command', decodeId('org', organization.organizationId) ?? ''), work)

const insertCampaign = ({ organization: own }: Transaction, name: string): Sql =>
  combinable(
    sql`insert into campaigns (organization_id, id, name) values (${own}, ${newId()}::uuid, ${name}) returning name`,
  )

const namesLike = (prefix: string) =>
  transact(({ query, organization: own }) =>
    query<{ name: string }>(
      sql`select name from campaigns where organization_id = ${own} and name like ${`${prefix}%`} order by 1`,
    ),
  ).then((rows) => rows.map(({ name }) => name))

test('values arrive as they were sent', async () => {
  const texts = ['', "o'clock", '"quoted" \\ {1,2} $1 ($1->>0)', 'null', 'NULL', '\u{1f600}\n\t', '{"a": 1}']
  const at = new Date('2026-11-25T12:34:56.789Z')
  const select = ({ organization: own }: Transaction) => sql`
    select ${texts}::text[] as texts, ${texts[2]}::text as text, ${null}::text as nothing, ${[null, 'a']}::text[] as some,
      ${12.5}::numeric::text as number, ${true}::boolean as truth, encode(${Buffer.from([0, 39, 92, 255])}::bytea, 'hex') as bytes,
      (${[Buffer.from([0]), null]}::bytea[])[1] = '\\x00' as listed, ${at}::timestamptz = '2026-11-25T12:34:56.789Z' as time,
      ${own} is not null as own from teams where organization_id = ${own}`
  const [plain, onServer] = await transact(async (transaction) => [
    await transaction.query(select(transaction)),
    await transaction.query(combinable(select(transaction))),
  ])
  expect(onServer).toEqual(plain)
  expect(onServer).toEqual([
    {
      ...{ texts, text: texts[2], nothing: null, some: [null, 'a'], number: '12.5', truth: true, bytes: '00275cff' },
      ...{ listed: true, time: true, own: true },
    },
  ])
})

test('statements sent together run in order, and each sees what the ones before have done', async () => {
  const shared = new Parameter('Together 1')
  const [, found, , all] = await transact((transaction) => {
    const named = (name: unknown) =>
      combinable(sql`select count(*)::integer as count from campaigns
        where organization_id = ${transaction.organization} and name like ${name}::text`)
    return Promise.all([
      transaction.query(insertCampaign(transaction, 'Together 1')),
      transaction.query(named(shared)),
      transaction.query(insertCampaign(transaction, 'Together 2')),
      transaction.query(named('Together%')),
    ])
  })
  expect([found, all]).toEqual([[{ count: 1 }], [{ count: 2 }]])
})

test('a statement of another kind runs after those sent before it, and before those sent after it', async () => {
  const count = ({ organization: own }: Transaction) => sql`
    select count(*)::integer as count from campaigns where organization_id = ${own} and name like 'Order%'`
  const [, first, , second] = await transact((transaction) =>
    Promise.all([
      transaction.query(insertCampaign(transaction, 'Order 1')),
      transaction.query(count(transaction)),
      transaction.query(insertCampaign(transaction, 'Order 2')),
      transaction.query(count(transaction)),
    ]),
  )
  expect([first, second]).toEqual([[{ count: 1 }], [{ count: 2 }]])
})

test('what waits to be sent when the work fails is never executed', async () => {
  const failing = transact(async (transaction) => {
    await transaction.query(insertCampaign(transaction, 'Failing 1'))
    transaction.query(insertCampaign(transaction, 'Failing 2')).catch(() => undefined)
    throw new Error('the work has failed')
  })
  await expect(failing).rejects.toThrow('the work has failed')
  expect(await namesLike('Failing')).toEqual([])
})

test('an error of one statement rejects those sent with it, and rolls back the transaction', async () => {
  const outcomes: string[] = []
  const failing = transact(async (transaction) => {
    const sent = [
      insertCampaign(transaction, 'Broken 1'),
      combinable(sql`select 1 / 0 from teams where organization_id = ${transaction.organization}`),
      insertCampaign(transaction, 'Broken 2'),
    ].map((statement) => transaction.query(statement))
    for (const { status } of await Promise.allSettled(sent)) outcomes.push(status)
    await Promise.all(sent)
  })
  await expect(failing).rejects.toThrow('division by zero')
  expect(outcomes).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await namesLike('Broken')).toEqual([])
})

test('a revoked key changes nothing, although its change is sent with the check of the key', async () => {
  const call = await organization.withScopes(['urn:service:campaign:*:write'])
  const create = (name: string) => call('POST', '/v5/campaigns', { body: { name } })
  expect((await create('Revoked 1')).status).toBe(201)
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from api_keys where organization_id = ${decodeId('org', organization.organizationId)}::uuid and name = 'test'`,
  )
  expectRefusal(await create('Revoked 2'), 401)
  expect(await namesLike('Revoked')).toEqual(['Revoked 1'])
})

test('only the owner of the database may call the function', async () => {
  const [row] = await service.database.crossTenantQuery<{ isPublic: boolean }>(
    'check the database',
    sql`select exists (select from pg_proc cross join aclexplode(proacl) where proname = 'run_in_organization' and grantee = 0)
      or (select proacl is null from pg_proc where proname = 'run_in_organization') as "isPublic"`,
  )
  expect(row).toEqual({ isPublic: false })
})

test('an object that is not sent as JSON text is refused instead of being stored as a text', async () => {
  const write = transact((transaction) => {
    const { organization: own } = transaction
    return transaction.query(
      combinable(sql`insert into campaigns (organization_id, id, name)
          values (${own}, ${newId()}::uuid, ${{ name: 'Object' }}) returning name`),
    )
  })
  await expect(write).rejects.toThrow('must be sent as JSON text')
  expect(await namesLike('[object')).toEqual([])
})
