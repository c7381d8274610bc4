import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readContract } from './document.ts'
import { drawRequest } from './drawing.ts'
import { changedTables, problemsInLog, idsIn, type Rows, rowsOf, untilProcessed } from './guard.ts'
import { personOf } from './person.ts'
import { createContext, type Result, run } from './run.ts'
import { expire, expiredName, narrowScopes, settings } from './stage.ts'
import { createApiKey } from '../../server/src/cli/create-api-key.ts'
import { createDatabase } from '../../server/test/postgres.ts'
import { lawTimes, seed } from '../../server/test/seed.ts'
import { startTestService, type TestOrganization, type TestService } from '../../server/test/service.ts'
import type { FuzzContext } from './context.ts'

// The short form of `npm run fuzz`, which draws the same requests: docs/fuzzing.md.
const contract = readContract(fileURLToPath(new URL('../..', import.meta.url)))

let service: TestService
let client: pg.Client
let context: FuzzContext
let theirs: TestOrganization
let theirRows: Rows

beforeAll(async () => {
  const database = await createDatabase()
  service = await startTestService({ ...settings, IMPORT_WORKERS: '1' }, database)
  client = new pg.Client(database.connection)
  await client.connect()
  const newOne = () => service.newOrganization()
  const [ours, others, spare] = await Promise.all([newOne(), newOne(), newOne()])
  const key = async (name: string, scopes: readonly string[]) =>
    (await createApiKey({ database: service.database, organization: ours.organizationId, name, scopes })).apiKey
  const [narrowKey, expiredKey] = [await key('narrow', narrowScopes), await key(expiredName, ['*:*:*'])]
  await expire(client)
  theirs = others
  const person = await personOf(client, spare, 'a password that is long enough')
  context = await createContext({ contract, port: portOf(service), ours, theirs, person, narrowKey, expiredKey, seed })
  await untilProcessed(client, theirs.organizationId)
  theirRows = await rowsOf(client, theirs.organizationId)
})
afterAll(async () => {
  await client.end()
  await service.close()
})

const portOf = ({ url }: TestService) => Number(new URL(url).port)

/** Sends requests to these operations, few at once, so that none is rejected after waiting for a locked record. */
function send(operations: FuzzContext['operations'], requests: number): Promise<Result> {
  const ignore = () => undefined
  const options = { port: portOf(service), first: 0, connections: 4, onProgress: ignore, onViolation: ignore }
  return run({ ...options, context: { ...context, operations }, contract, foreignIds: idsIn(theirRows), requests })
}

test('every response to a random request is documented and contains nothing of another organization', async () => {
  const { violations, statuses, operations } = await send(
    contract.operations,
    8 * contract.operations.length * lawTimes,
  )
  expect(violations).toEqual([])
  for (const status of ['200', '201', '204', '304', '400', '401', '403', '404', '405', '422']) {
    expect(Object.keys(statuses)).toContain(status)
  }
  expect(Object.keys(operations).filter((name) => operations[name]?.requests === 0)).toEqual([])
  expect(Object.values(operations).filter(({ successes }) => successes > 0).length).toBeGreaterThan(40)
}, 120_000)

test('every accepted random push is processed without an internal error', async () => {
  const pushes = contract.operations.filter(({ ids }) => ids.includes('hash'))
  const { violations, operations } = await send(pushes, 300 * lawTimes)
  expect(violations).toEqual([])
  expect(operations.pushLead?.statuses).toEqual(expect.arrayContaining([200, 400, 404]))
  expect(operations.pushLead?.successes).toBeGreaterThan(75)
  // Random pushes rarely repeat a lead, so one is repeated here.
  for (let time = 0; time < 2; time++) {
    const body = JSON.stringify({ contact: { email: 'repeated@example.com', name: 'Ada Repeated' } })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(context.ours.account.triggerUrl, { method: 'POST', headers, body })).status).toBe(200)
  }
  const kinds = Object.keys(await untilProcessed(client, context.ours.account.organizationId))
  expect(kinds).toEqual(expect.arrayContaining(['DUPLICATE', 'PARTIAL', 'PROCESSED']))
  expect(kinds).not.toContain('DEAD')
}, 120_000)

test('the requests above changed nothing in the other organization and logged no internal error', async () => {
  expect(changedTables(theirRows, await rowsOf(client, theirs.organizationId))).toEqual([])
  // Each request logs a line, so a short log means that the check found nothing to read.
  expect(service.logged.length).toBeGreaterThan(1000)
  expect(problemsInLog(service.logged.join(''))).toEqual([])
})

test('the first round requests each operation once, as it is', () => {
  const first = contract.operations.map((_, number) => drawRequest(context, number))
  expect(first.map(({ operation }) => operation.name)).toEqual(contract.operations.map(({ name }) => name))
  expect(first.flatMap(({ changes }) => changes)).toEqual([])
})

test('the same seed and number give the same request, another number gives another one', () => {
  const draw = (number: number) => drawRequest(context, number)
  for (let number = 0; number < 200; number++) expect(draw(number)).toEqual(draw(number))
  // The schemas of an operation can contain themselves.
  const texts = Array.from({ length: 200 }, (_, number) => {
    const { operation, ...sent } = draw(number)
    return JSON.stringify({ ...sent, operation: operation.name })
  })
  expect(new Set(texts).size).toBe(200)
})
