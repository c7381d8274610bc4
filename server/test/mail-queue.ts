import { randomUUID } from 'node:crypto'
import { addMember } from '../src/identity/members/store.ts'
import { sql } from '../src/platform/model/sql.ts'
import { type NewMail, queueMail } from '../src/identity/mails/store.ts'
import { newId, decodeId, encodeId } from '../src/platform/model/ids.ts'
import { emailKey } from '../src/platform/model/normalizers.ts'
import { until } from './processes.ts'
import type { TestService } from './service.ts'

/** A row of the mail queue. */
export interface MailRow {
  id: string
  organizationId: string | null
  userId: string | null
  kind: string
  recipient: string
  status: string
  attempts: number
  subject: string | null
  lastError: string | null
  isSealed: boolean
  isLeased: boolean
  /** Seconds until the next attempt. */
  waits: number | null
}

/** Queues a mail as a route does; returns the uuid of its row. */
export async function enqueue({ database }: Pick<TestService, 'database'>, mail: NewMail): Promise<string> {
  const before = await mailsOf({ database }, mail.recipient)
  await database.crossTenantTransaction('check the database', (spanning) => queueMail(spanning, mail))
  const added = (await mailsOf({ database }, mail.recipient)).find(({ id }) => !before.some((row) => row.id === id))
  if (!added) throw new Error('the mail was not queued')
  return added.id
}

/** All mails that were queued for the address, oldest first. */
export const mailsOf = ({ database }: Pick<TestService, 'database'>, recipient: string): Promise<MailRow[]> =>
  database.crossTenantQuery<MailRow>(
    'check the database',
    sql`select id, organization_id as "organizationId", user_id as "userId", kind, recipient, status, attempts, subject,
        lease is not null as "isLeased", last_error as "lastError", body_sealed is not null as "isSealed",
        extract(epoch from run_at - now())::float8 as waits
      from mails where recipient_key = ${emailKey(recipient)} order by created_at, id`,
  )

/** The only mail to the address. */
export async function mailOf(service: Pick<TestService, 'database'>, recipient: string): Promise<MailRow> {
  const [row, ...more] = await mailsOf(service, recipient)
  if (!row || more.length > 0) throw new Error(`${recipient} has ${row ? 'several mails' : 'no mail'}`)
  return row
}

/** Makes mails that wait for their next attempt due now. */
export async function makeDue({
  database,
  wake,
}: Pick<TestService, 'database'> & Partial<Pick<TestService, 'wake'>>): Promise<void> {
  await database.crossTenantQuery(
    'check the database',
    sql`update mails set run_at = now() where status = 'queued' and lease is null`,
  )
  wake?.('mail')
}

/** Consecutive mails have different kinds and final states. */
let createdCount = 0

/** Changes from `kept` to each final state. */
const finalStates = [
  sql`status = status`,
  sql`status = 'sent', sent_at = now(), body_sealed = null`,
  sql`status = 'failed', last_error = 'the mail server rejected the recipient (550)', attempts = 2`,
  sql`status = 'dropped', last_error = 'the account is gone', subject = null, body_sealed = null`,
]

/** Creates a mail to the person in one of the final states; returns its public id. */
export async function createFinishedMail(
  service: Pick<TestService, 'database' | 'wake'>,
  userId: string,
): Promise<string> {
  const recipient = `${randomUUID()}@example.com`
  const to = { recipient, userId: decodeId('usr', userId) ?? null }
  const device = { device: 'Firefox', address: '192.0.2.1', at: new Date().toISOString() }
  await enqueue(
    service,
    ++createdCount % 2 === 0
      ? { ...to, kind: 'account-changed', facts: { what: 'password-changed' } }
      : { ...to, kind: 'new-device', facts: device },
  )
  service.wake('mail')
  await until('the mail is kept', async () => (await mailOf(service, recipient)).status === 'kept')
  const { id } = await mailOf(service, recipient)
  const finalState = finalStates[createdCount % finalStates.length] ?? sql`status = status`
  await service.database.crossTenantQuery('check the database', sql`update mails set ${finalState} where id = ${id}`)
  return encodeId('mai', id)
}

/** Creates a person who is a member of these organizations (uuids). */
export async function newPerson(
  { database }: Pick<TestService, 'database'>,
  organizationIds: readonly string[] = [],
  { name = 'Grace Hopper', email = `${randomUUID()}@example.com` } = {},
): Promise<{ id: string; email: string }> {
  const id = newId()
  await database.crossTenantTransaction('check the database', async (spanning) => {
    await spanning.query(
      sql`insert into users (id, email, email_key, name) values (${id}, ${email}, ${emailKey(email)}, ${name})`,
    )
    for (const organizationId of organizationIds)
      await addMember(spanning, { organizationId, userId: id, role: 'member' })
  })
  return { id, email }
}

/** The number of unexpired tokens of the person or the address. */
export async function countValidTokens(
  { database }: Pick<TestService, 'database'>,
  { email, userId = null }: { email: string; userId?: string | null },
): Promise<number> {
  const [row] = await database.crossTenantQuery<{ count: number }>(
    'check the database',
    sql`select count(*)::int as count from one_time_tokens
      where expires_at > now() and (email = ${email} or user_id = ${userId}::uuid)`,
  )
  return row?.count ?? 0
}
