import type { Database } from '../../../platform/database/database.ts'
import { raw, type Sql, sql } from '../../../platform/model/sql.ts'

/** Hours for which the Idempotency-Key of a push is stored. */
export const pushKeyHours = 24

type CrossTenantDatabase = Pick<Database, 'crossTenantQuery'>

/** An import that accepts pushes, with the hashes of its valid secrets. */
export interface OpenImport {
  organizationId: string
  hashes: readonly Buffer[]
}

/** A push that is to be inserted as a row. */
export interface NewRow {
  id: string
  organizationId: string
  importId: string
  triggerHash: Buffer
  /** JSON as it was sent. */
  payload: Uint8Array
  /** JSON. */
  parameters: string
  key: { keyHash: Buffer; requestHash: Buffer } | undefined
}

/** Why the last insert did not return this push. */
export type InsertOutcome =
  | { kind: 'stored'; createdAt: Date }
  | { kind: 'replay'; id: string; createdAt: Date }
  | { kind: 'key reused' }
  | { kind: 'closed' }
  /** The reason no longer applies: the push can be retried. */
  | { kind: 'retry' }

/** Finds the imports that accept pushes. */
export async function findOpenImports(
  database: CrossTenantDatabase,
  importIds: readonly string[],
): Promise<Map<string, OpenImport>> {
  const rows = await database.crossTenantQuery<{ import_id: string; organization_id: string; hashes: Buffer[] }>(
    'find the import of a push',
    sql`select trigger.import_id, trigger.organization_id, array_agg(trigger.hash) as hashes
      from import_triggers trigger ${joinImport}
      where trigger.import_id = any(${importIds}::uuid[]) and ${isActive} group by 1, 2`,
    'find the imports of pushes',
  )
  return new Map(rows.map((row) => [row.import_id, { organizationId: row.organization_id, hashes: row.hashes }]))
}

/**
 * Inserts, in one statement, the rows of pushes whose trigger is active and whose key is new. Resolves, once durable,
 * to the creation time of each inserted row. It may be repeated with the same ids if the outcome of a first attempt is
 * unknown: existing rows are neither inserted again nor returned.
 */
export async function insertRows(database: CrossTenantDatabase, rows: readonly NewRow[]): Promise<Map<string, Date>> {
  const hasKeys = rows.some(({ key }) => key !== undefined)
  const inserted = await database.crossTenantQuery<{ id: string; created_at: Date }>(
    'keep pushes',
    insertSql(rows, hasKeys),
    hasKeys ? 'keep pushes with keys' : 'keep pushes',
  )
  return new Map(inserted.map(({ id, created_at }) => [id, created_at]))
}

/** Finds out what happened to pushes that `insertRows` did not return. */
export async function findInsertOutcomes(
  database: CrossTenantDatabase,
  rows: readonly NewRow[],
): Promise<Map<string, InsertOutcome>> {
  const found = await database.crossTenantQuery<FoundOutcome>(
    'keep pushes',
    sql`select push.id, own.created_at as own_created_at, open.import_id is not null as is_open,
        key.row_id as stored_id, key.created_at as stored_at, key.request_hash = push.request_hash as is_same
      from ${pushesSql(rows)}
      left join import_rows own on own.organization_id = push.organization_id and own.id = push.id
      left join (select trigger.* from import_triggers trigger ${joinImport} where ${isActive}) open
        on open.import_id = push.import_id and open.hash = push.trigger_hash
      left join import_push_keys key on key.organization_id = push.organization_id
        and key.import_id = push.import_id and key.key_hash = push.key_hash`,
  )
  return new Map(found.map((row) => [row.id, toInsertOutcome(row)]))
}

interface FoundOutcome {
  id: string
  own_created_at: Date | null
  is_open: boolean
  stored_id: string | null
  stored_at: Date | null
  is_same: boolean | null
}

function toInsertOutcome({ own_created_at, is_open, stored_id, stored_at, is_same }: FoundOutcome): InsertOutcome {
  if (own_created_at) return { kind: 'stored', createdAt: own_created_at }
  if (!is_open) return { kind: 'closed' }
  if (!stored_id || !stored_at) return { kind: 'retry' }
  // The key was written in the transaction of its row, so both have the same time.
  return is_same ? { kind: 'replay', id: stored_id, createdAt: stored_at } : { kind: 'key reused' }
}

const joinImport = sql`join imports
  on imports.organization_id = trigger.organization_id and imports.id = trigger.import_id`

const isActive = sql`(trigger.expires_at is null or trigger.expires_at > now())
  and imports.disabled_at is null and imports.deleted_at is null`

function insertSql(rows: readonly NewRow[], hasKeys: boolean): Sql {
  const open = sql`${pushesSql(rows)} join import_triggers trigger
    on trigger.import_id = push.import_id and trigger.hash = push.trigger_hash
    and trigger.organization_id = push.organization_id ${joinImport}`
  const insert = sql`insert into import_rows (organization_id, id, import_id, payload, parameters)
    select push.organization_id, push.id, push.import_id, ${payloadSql(rows)}, push.parameters
    from ${open} where ${isActive}`
  const end = sql`on conflict (organization_id, id) do nothing returning id, created_at`
  if (!hasKeys) return sql`${insert} ${end}`
  // Ordered by key: otherwise, two statements with the same keys in opposite order would deadlock.
  return sql`with stored_keys as (
      insert into import_push_keys (organization_id, import_id, key_hash, request_hash, row_id)
      select push.organization_id, push.import_id, push.key_hash, push.request_hash, push.id
      from ${open} where ${isActive} and push.key_hash is not null
      order by push.organization_id, push.import_id, push.key_hash
      on conflict (organization_id, import_id, key_hash) do update
        set request_hash = excluded.request_hash, row_id = excluded.row_id, created_at = excluded.created_at
        where import_push_keys.created_at <= now() - ${raw(`interval '${pushKeyHours} hours'`)}
      returning row_id)
    ${insert} and (push.key_hash is null or push.id in (select row_id from stored_keys)) ${end}`
}

function pushesSql(rows: readonly NewRow[]): Sql {
  let end = 0
  const starts = rows.map(({ payload }) => (end += payload.length) - payload.length + 1)
  return sql`unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ organizationId }) => organizationId)}::uuid[],
    ${rows.map(({ importId }) => importId)}::uuid[], ${rows.map(({ triggerHash }) => triggerHash)}::bytea[],
    ${starts}::int[], ${rows.map(({ payload }) => payload.length)}::int[],
    ${rows.map(({ parameters }) => parameters)}::jsonb[],
    ${rows.map(({ key }) => key?.keyHash ?? null)}::bytea[],
    ${rows.map(({ key }) => key?.requestHash ?? null)}::bytea[])
    push (id, organization_id, import_id, trigger_hash, payload_start, payload_length, parameters, key_hash, request_hash)`
}

/** All payloads are sent as one byte array, so that none is decoded, escaped or rewritten on the way. */
const payloadSql = (rows: readonly NewRow[]): Sql =>
  sql`convert_from(substr(${Buffer.concat(rows.map(({ payload }) => payload))}::bytea, push.payload_start, push.payload_length), 'UTF8')::json`
