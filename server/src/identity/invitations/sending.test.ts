import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MailedService, startMailedService } from '../../../test/mailed-service.ts'
import { receiveLinkToken, newOwner, type TestPerson } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'

let mailed: MailedService
beforeAll(async () => {
  mailed = await startMailedService()
})
afterAll(() => mailed.close())

const path = '/v5/invitations'

const inDatabase = <Row extends object>(statement: ReturnType<typeof sql>) =>
  mailed.service.database.crossTenantQuery<Row>('manage an account', statement)

test('resending takes its locks in the same order as other changes, so there is no deadlock', async () => {
  const owner = await newOwner(mailed.service)
  const { id } = await mailed.invite(owner.call)
  let sending: ReturnType<TestPerson['call']> | undefined
  await mailed.service.database.crossTenantTransaction('manage an account', async (holder) => {
    await holder.query(sql`select from organizations where id = ${decodeId('org', owner.organizationId)}::uuid
      for no key update`)
    sending = owner.call('POST', `${path}/${id}/resend`)
    await until('it waits for the organization', async () => {
      const waiting = await inDatabase(sql`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`)
      return waiting.length === 1
    })
    await holder.query(sql`select from invitations where id = ${decodeId('inv', id)}::uuid for update nowait`)
  })
  expect((await sending)?.status).toBe(200)
})

test('the mail is sent as soon as the invitation is committed, even after a slow commit', async () => {
  const owner = await newOwner(mailed.service)
  await inDatabase(sql`create function dawdle() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.1); return null; end $$`)
  await inDatabase(sql`create constraint trigger dawdle after insert on mails deferrable initially deferred
    for each row execute function dawdle()`)
  const { id, email } = await mailed.invite(owner.call)
  for (let time = 0; time < 3; time++) {
    if (time > 0) expect((await mailed.invite(owner.call)).id).not.toBe(id)
    expect((await owner.call('POST', `${path}/${id}/resend`)).status).toBe(200)
    await receiveLinkToken(mailed.receiver, email, 'invitation')
  }
  await inDatabase(sql`drop function dawdle() cascade`)
  // If the worker checked too early, it would check again only a second later.
  const [row] = await inDatabase<{ created: number; resent: number }>(sql`
    select min(waited) filter (where number = 1) as created, min(waited) filter (where number > 1) as resent from (
      select extract(epoch from composed_at - created_at)::float8 as waited,
        row_number() over (partition by record_id order by created_at) as number
      from mails where organization_id = ${decodeId('org', owner.organizationId)}::uuid) mail`)
  expect(row?.created).toBeLessThan(0.9)
  expect(row?.resent).toBeLessThan(0.9)
})
