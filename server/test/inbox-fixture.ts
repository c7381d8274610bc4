import { expect } from 'vitest'
import { addMember } from '../src/identity/members/store.ts'
import { inboxQueue } from '../src/inbox/notifier-store.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import type { MemberRole } from '../src/platform/model/scopes.ts'
import { PurgeRounds } from '../src/platform/operations/maintenance/maintenance.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { retention } from './maintenance-fixture.ts'
import { newOwner, type TestOwner } from './people.ts'
import { until } from './processes.ts'
import type { Call, Json, TestService } from './service.ts'

export async function created(call: Call, path: string, body: object): Promise<Json> {
  const answer = await call('POST', path, { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

export async function patched(call: Call, path: string, body: object): Promise<Json> {
  const answer = await call('PATCH', path, { body })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

export async function entriesOf({ call }: { call: Call }, query = ''): Promise<Json[]> {
  const answer = await call('GET', `/v5/inbox${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** The entries of the person, once there are as many. */
export async function untilEntries(person: { call: Call }, count: number): Promise<Json[]> {
  let found: Json[] = []
  await until(`there are ${count} entries`, async () => {
    found = await entriesOf(person)
    return found.length >= count
  })
  expect(found.length).toBe(count)
  return found
}

/** Waits until the notifier has read everything that has happened in the organization. */
export const untilRead = (
  { database }: Pick<TestService, 'database'>,
  { organizationId }: Pick<TestOwner, 'organizationId'>,
): Promise<void> =>
  until('the notifier has read the feed', async () => {
    const id = decodeId('org', organizationId) ?? ''
    return (await inboxQueue.secondsUntilDue(database, id)) === undefined
  })

/** Deletes what is expired. A round ends early while the service itself purges, which it does every minute. */
export async function maintain(
  { database }: Pick<TestService, 'database'>,
  settings: Partial<typeof retention> = {},
): Promise<void> {
  const rounds = new PurgeRounds({
    database,
    log: { error: (error: unknown) => expect.unreachable(JSON.stringify(error)) } as never,
    retentionPolicies: retentionPolicies({ ...retention, ...settings }),
    purged: () => undefined,
  })
  await until('a whole round is over', () => rounds.run())
}

/** Another person, with a session in the organization of the owner. */
export async function newColleague(
  service: TestService,
  { organizationId }: Pick<TestOwner, 'organizationId'>,
  { role = 'member', roleId }: { role?: MemberRole; roleId?: string } = {},
): Promise<TestOwner> {
  const person = await newOwner(service)
  const membership = {
    organizationId: decodeId('org', organizationId) ?? '',
    userId: decodeId('usr', person.userId) ?? '',
    role,
    roleId: roleId === undefined ? null : (decodeId('rol', roleId) ?? ''),
  }
  await service.database.crossTenantTransaction('check the database', (db) => addMember(db, membership))
  const call: Call = (method, path, options = {}) =>
    person.call(method, path, {
      ...options,
      headers: { 'service-organization-id': organizationId, ...options.headers },
    })
  return { ...person, organizationId, call }
}
