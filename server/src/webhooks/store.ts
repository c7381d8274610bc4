import type { Transaction } from '../platform/database/database.ts'
import { type BodyError, invalidBody } from '../platform/model/errors.ts'
import { newId } from '../platform/model/ids.ts'
import { sql } from '../platform/model/sql.ts'
import type { PendingChange, WrittenRecord } from '../platform/records/declare/changes.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import type { Relations } from '../platform/records/declare/relations.ts'
import { type StandardStore, standardStore, writeOne } from '../platform/records/write/store.ts'
import type { Secret } from '../platform/secret/secret.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { webhooks } from './resource.ts'
import { addSecret, endSecrets, sealHeaders } from './secrets-store.ts'
import { errorsOfSelection, type Selecting } from './selection-store.ts'
import { errorOfPattern } from './types.ts'

/** What decides which events there are, and how filters are read. */
export interface EventSources {
  /** The resources in the feed. */
  followed: () => readonly Resource[]
  relations: Relations
  /** The path of the records of a resource; undefined if it contains more than their id. */
  recordPath: (resource: Resource) => string | undefined
}

/** What callers change. The service itself sets only columns, which need no checks. */
export const webhookStore = (sources: EventSources): StandardStore =>
  standardStore(webhooks, {
    async beforeWrite(transaction, pending) {
      const errors: BodyError[] = []
      for (const change of pending) {
        if (change.values.status !== undefined) change.columns.status_reason = null
        if (['events', 'filter', 'changedFields'].some((name) => name in change.values))
          errors.push(...(await errorsOf(transaction, sources, change)))
      }
      if (errors.length > 0) throw invalidBody(errors)
    },
    afterWrite: followOn,
  })

async function errorsOf(
  transaction: Transaction,
  { followed, relations }: EventSources,
  { values, before }: PendingChange,
): Promise<readonly BodyError[]> {
  const selecting = { ...before, ...values } as unknown as Selecting
  const errors = selecting.events.flatMap((pattern) => {
    const message = errorOfPattern(pattern, selecting.scopes, followed())
    return message === undefined ? [] : [{ field: 'events', message }]
  })
  return errors.length > 0 ? errors : errorsOfSelection(transaction, { followed: followed(), relations }, selecting)
}

/** A new webhook follows the feed from now on; one that is enabled again continues where it stopped. */
async function followOn({ organization, query }: Transaction, written: readonly WrittenRecord[]): Promise<void> {
  const ids = written.map(({ id }) => id)
  await query(sql`
    insert into webhook_states as state (organization_id, webhook_id, "position", due_at)
    select ${organization}, given.id, coalesce(feed.last_position, 0), now()
    from unnest(${ids}::uuid[]) as given (id) left join event_feeds feed on feed.organization_id = ${organization}
    on conflict (organization_id, webhook_id) do update set due_at = excluded.due_at, blocked_until = null`)
}

/** Where the values that are stored encrypted come from. */
interface Sealing {
  secret: Secret
  headers: JsonObject | undefined
}

export interface WebhookWithSecret {
  written: WrittenRecord
  /** The new secret, as text. */
  text: string
}

/** Errors: 422. */
export async function createWebhook(
  store: StandardStore,
  transaction: Transaction,
  { values, createdBy, secret, headers }: Sealing & { values: JsonObject; createdBy: string },
): Promise<WebhookWithSecret> {
  const id = newId()
  const columns = { created_by: createdBy, ...headerColumns(id, { secret, headers }) }
  const written = await writeOne(store, transaction, { kind: 'create', id, values, columns })
  return { written, text: await addSecret(transaction, secret, id) }
}

/** Undefined headers stay as they are. `id`: uuid. */
export const headerColumns = (id: string, { secret, headers }: Sealing): JsonObject => {
  if (headers === undefined) return {}
  const names = Object.keys(headers)
  return { header_names: names, headers_sealed: names.length === 0 ? null : sealHeaders(secret, id, headers) }
}

export interface SecretRotation {
  webhookId: string
  /** How long the previous secrets sign too; 0 ends them immediately. */
  overlapSeconds: number
  revisions: readonly number[] | undefined
}

/** Errors: 404, 412. */
export async function rotateSecret(
  store: StandardStore,
  transaction: Transaction,
  secret: Secret,
  { webhookId, overlapSeconds, revisions }: SecretRotation,
): Promise<WebhookWithSecret & { previousEndsAt: string | null }> {
  // Locks the webhook, and changes its revision, because a caller who has read it has not seen the rotation.
  const columns = ({ url }: JsonObject) => ({ url: url ?? null })
  const written = await writeOne(store, transaction, { kind: 'update', id: webhookId, values: {}, columns, revisions })
  const previousEndsAt = await endSecrets(transaction, { webhookId, seconds: overlapSeconds })
  return { written, text: await addSecret(transaction, secret, webhookId), previousEndsAt }
}
