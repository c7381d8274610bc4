import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Access, openAccess } from '../../../test/access.ts'
import type { Caller } from '../model/caller.ts'
import { sql } from '../model/sql.ts'
import { createDenials, type Denial } from './denials.ts'

let access: Access
let caller: Caller
beforeAll(async () => {
  access = await openAccess()
  const { apiKey, organizationId } = await access.newOrganization()
  const credential = await access.identifier.authenticate(`Bearer ${apiKey}`)
  caller = await access.identifier.selectOrganization(credential, organizationId)
})
afterAll(() => access.close())

const client = { address: '192.0.2.1', requestId: 'req_1', userAgent: 'never told' }
const missingScope = (scope: string): Denial => ({
  action: 'scope.denied',
  scopeOrReason: scope,
  route: '/v5/contacts',
})

const readDenials = async (): Promise<{ scope: string; whole: string }[]> =>
  access.database.crossTenantQuery(
    'check the database',
    sql`select details->>'scope' as scope, audit_events::text as whole from audit_events
      where action = 'scope.denied' order by created_at, id`,
  )

function createTestDenials(logged: string[] = []) {
  const log = pino(new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) }))
  return createDenials({ database: access.database, log, clock: () => access.clock.now })
}

test('a repeated denial is recorded again after a minute, a different one immediately', async () => {
  const denials = createTestDenials()
  const recordMissingScope = async (scope: string) => {
    denials.record(caller, client, missingScope(scope))
    await denials.idle()
  }
  await recordMissingScope('a')
  await recordMissingScope('a')
  await recordMissingScope('b')
  access.clock.now += 59_999
  await recordMissingScope('a')
  expect((await readDenials()).map(({ scope }) => scope)).toEqual(['a', 'b'])
  access.clock.now += 1
  await recordMissingScope('a')
  expect((await readDenials()).map(({ scope }) => scope)).toEqual(['a', 'b', 'a'])
  expect((await readDenials())[0]?.whole).not.toContain('never told')
})

test('a denial that cannot be written is logged, and the next one is tried', async () => {
  const logged: string[] = []
  const denials = createTestDenials(logged)
  const broken: Caller = { ...caller, live: sql`no_such_column` }
  denials.record(broken, client, missingScope('c'))
  await denials.idle()
  expect(logged).toHaveLength(1)
  denials.record(caller, client, missingScope('c'))
  await denials.idle()
  expect((await readDenials()).filter(({ scope }) => scope === 'c')).toHaveLength(1)
})
