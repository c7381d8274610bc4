import type { Connection, Transaction } from '../platform/database/database.ts'
import { ApiError } from '../platform/model/errors.ts'
import { encodeId, newId } from '../platform/model/ids.ts'
import { identifier, raw, sql } from '../platform/model/sql.ts'
import type { ColumnsOf, WrittenRecord } from '../platform/records/declare/changes.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { root } from '../platform/records/filter/target.ts'
import { matching, planCount, withinScope } from '../platform/records/page/page.ts'
import type { ChangeRequest } from '../platform/records/page/parse.ts'
import { readCount, scopeOf } from '../platform/records/page/read.ts'
import { assertParent } from '../platform/records/write/parent.ts'
import { standardStore, writeOne } from '../platform/records/write/store.ts'
import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import type { JsonValue } from '../platform/model/json.ts'
import { deliveries, deliveryDetails, type DeliveryStatus } from './delivery.ts'
import { webhookActor } from './selection-store.ts'

/** Deliveries as lists show them. */
export const deliveryStore = standardStore(deliveries)

/** Deliveries with their attempts. */
export const deliveryDetailsStore = standardStore(deliveryDetails)

/** Live events go first. */
export const priorities = { live: 0, replay: 1 } as const

/** What can be sent again. */
const replayable: readonly DeliveryStatus[] = ['delivered', 'failed', 'skipped', 'retrying']

/** Begins the attempts of a delivery again. Error: 423. */
export const replayColumns: ColumnsOf = ({ status, isTest }): Record<string, JsonValue> => {
  if (isTest === true) throw new ApiError('resource_locked', 'This is a test event. Send another one instead.')
  if (!replayable.includes(status as DeliveryStatus))
    throw new ApiError('resource_locked', 'This delivery waits for its first attempt, or is being sent.')
  return { status: 'pending', tries: 0, priority: priorities.replay, next_attempt_at: 'now', finished_at: null }
}

/** Makes the webhook (uuid) due, because it has deliveries that are. */
export async function makeDue(db: Transaction, webhookId: string): Promise<void> {
  await db.query(sql`
    update webhook_states set due_at = least(due_at, now())
    where organization_id = ${db.organization} and webhook_id = ${webhookId}::uuid`)
}

/** Maximum number of deliveries that one call replays. */
export const maxReplayed = 10_000

/** Sends the oldest deliveries of a webhook again that match; resolves to how many are left. Error: 404. */
export async function replayMatching(
  db: Transaction,
  webhookId: string,
  { dryRun, ...filters }: ChangeRequest,
): Promise<{ count: number; remaining: number }> {
  await assertParent(db, deliveries, webhookId)
  const scope = scopeOf(db, webhookId)
  if (dryRun) return { count: await readCount(db, deliveries, planCount(deliveries, filters, scope)), remaining: 0 }
  const rows = await db.query<{ isLast: boolean }>(sql`
    with found as (
      select ${raw(root)}.id from webhook_deliveries ${raw(root)}
      where ${matching(deliveries, filters, scope)} and ${raw(root)}.status = any(${replayable}::text[])
        and not ${raw(root)}.is_test and (${raw(root)}.next_attempt_at is null or ${raw(root)}.priority = ${priorities.live})
      order by ${raw(root)}.created_at, ${raw(root)}.id limit ${maxReplayed} for no key update skip locked)
    update webhook_deliveries set status = 'pending', tries = 0, priority = ${priorities.replay}, next_attempt_at = now(),
      finished_at = null, revision = revision + 1, updated_at = now()
    where organization_id = ${db.organization} and id = any(array(select id from found)) returning true as "isLast"`)
  if (rows.length > 0) await makeDue(db, webhookId)
  return { count: rows.length, remaining: rows.length === maxReplayed ? 1 : 0 }
}

/** A delivery of a test event of this type, with the latest record that the webhook reads. */
export async function addTest(
  db: Transaction,
  webhookId: string,
  { resource, type }: { resource: Resource; type: string },
): Promise<WrittenRecord> {
  const recordId = await findLatest(db, resource)
  const columns = {
    webhook_id: webhookId,
    event_id: newId(),
    type,
    record_id: encodeId(resource.idPrefix, recordId),
    is_test: true,
    attempts: [],
    next_attempt_at: 'now',
    priority: priorities.live,
    tries: 0,
  }
  const written = await writeOne(
    deliveryDetailsStore,
    db,
    { kind: 'create', values: {}, columns },
    { parentId: webhookId },
  )
  await makeDue(db, webhookId)
  return written
}

const nilId = '00000000-0000-0000-0000-000000000000'

async function findLatest(db: Transaction, resource: Resource): Promise<string> {
  const scope = { organization: db.organization, actor: webhookActor(db.organizationId) }
  const [row] = await db.query<{ id: string }>(sql`
    select ${raw(root)}.id from ${identifier(resource.table)} ${raw(root)}
    where ${withinScope(resource, scope)} order by ${raw(root)}.id desc limit 1`)
  return row?.id ?? nilId
}

/** The attempts of a delivery without what receivers answered. */
const withoutAnswers = raw(`(
  select coalesce(json_agg((attempt.value::jsonb || '{"answer":null}')::json order by attempt.place), '[]')
  from json_array_elements(attempts) with ordinality attempt (value, place))`)

/**
 * Deletes what receivers answered to these events (uuids). Attempts in progress are locked too: the process that stores their
 * results waits, and finds out that the record is erased.
 */
export async function deleteAnswersAbout(db: Transaction, eventIds: readonly string[]): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set attempts = ${withoutAnswers}
    where organization_id = ${db.organization} and event_id = any(${eventIds}::uuid[])
      and (status = 'delivering' or strpos(attempts::text, '"answer"') > 0)`)
}

/** Those of these deliveries (uuids) whose records are erased. */
export async function findErased(
  { organization, query }: Connection,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  // A transaction that erases may have begun before the delivery was stored.
  const erased = await query<{ id: string }>(sql`
    select delivery.id from webhook_deliveries delivery
    where delivery.organization_id = ${organization} and delivery.id = any(${ids}::uuid[])
      and (exists (select from events event
          where event.organization_id = ${organization} and event.record_id = substr(delivery.record_id, 5)::uuid
            and event.created_at > delivery.created_at - interval '1 hour' and event.kind = 'erased')
        or exists (select from contacts contact
          where contact.organization_id = ${organization} and contact.id = substr(delivery.record_id, 5)::uuid
            and contact.erased_at is not null))`)
  return new Set(erased.map(({ id }) => id))
}

/** Deletes what receivers answered to these deliveries (uuids) of erased records. The transaction has locked them before. */
export async function deleteAnswersOfErased(db: Transaction, ids: readonly string[]): Promise<void> {
  const erased = await findErased(db, ids)
  if (erased.size === 0) return
  await db.query(sql`
    update webhook_deliveries set attempts = ${withoutAnswers}
    where organization_id = ${db.organization} and id = any(${[...erased]}::uuid[])`)
}

/** The same of test events about these records (uuids). */
export async function deleteAnswersToTests(db: Transaction, recordIds: readonly string[]): Promise<void> {
  await db.query(sql`
    update webhook_deliveries set attempts = ${withoutAnswers}
    where organization_id = ${db.organization} and is_test
      and substr(record_id, 5) = any(${recordIds.map((id) => id.replaceAll('-', ''))}::text[])`)
}

/** Deliveries that ended this many days ago. */
export const endedDeliveries = (days: number): RetentionPolicy => ({
  name: 'webhook_deliveries',
  table: 'webhook_deliveries',
  key: { id: 'uuid' },
  since: 'finished_at',
  ttlSeconds: days * 24 * 60 * 60,
})
