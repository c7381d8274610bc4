import type { Database } from '../../../platform/database/database.ts'
import { Parameter, raw, type Sql, sql } from '../../../platform/model/sql.ts'
import { countsItselfSql, countSql } from '../../row-counts/store.ts'

/** Hours for which the Idempotency-Key of a push is stored. */
export const pushKeyHours = 24

export type IntakeDatabase = Pick<Database, 'crossTenantQuery' | 'crossTenantBatch'>

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

/**
 * Finds the imports that accept pushes: the directory says whose they are, and then the organizations whether they are
 * enabled.
 */
export async function findOpenImports(
  database: IntakeDatabase,
  importIds: readonly string[],
): Promise<Map<string, OpenImport>> {
  const triggers = await database.crossTenantQuery<{ importId: string; organizationId: string; hashes: Buffer[] }>(
    'find the import of a push',
    sql`select import_id as "importId", organization_id as "organizationId", array_agg(hash) as hashes
      from import_triggers where import_id = any(${importIds}::uuid[]) and ${isUnexpired} group by 1, 2`,
    'find the imports of pushes',
  )
  if (triggers.length === 0) return new Map()
  const statements = [...groupBy(triggers, ({ organizationId }) => organizationId)].map(([organizationId, all]) => ({
    name: 'find enabled imports',
    statement: sql`select id from imports where organization_id = ${organizationId}::uuid
      and id = any(${all.map(({ importId }) => importId)}::uuid[]) and ${isEnabled}`,
  }))
  const enabled = await database.crossTenantBatch<{ id: string }>('find the import of a push', statements)
  const ids = new Set(enabled.flat().map(({ id }) => id))
  return new Map(triggers.filter(({ importId }) => ids.has(importId)).map((one) => [one.importId, one]))
}

/**
 * Inserts, in one transaction and one network write, the rows of pushes whose trigger is active and whose key is new:
 * one statement checks the triggers, and then one per organization inserts. Resolves, once durable, to the creation time
 * of each inserted row. It may be repeated with the same ids if the outcome of a first attempt is unknown: existing rows
 * are neither inserted again nor returned.
 */
export async function insertRows(database: IntakeDatabase, rows: readonly NewRow[]): Promise<Map<string, Date>> {
  const triggers = triggersOf(rows)
  const [, ...inserted] = await database.crossTenantBatch<{ id: string; created_at: Date }>('keep pushes', [
    { name: 'check triggers', statement: checkTriggersSql(triggers) },
    ...byOrganization(rows).map(([organizationId, own]) => {
      const hasKeys = own.some(({ key }) => key !== undefined)
      const statement = insertSql(organizationId, pushesSql(own, triggers), own, hasKeys)
      return { name: hasKeys ? 'keep pushes with keys' : 'keep pushes', statement }
    }),
  ])
  return new Map(inserted.flat().map(({ id, created_at }) => [id, created_at]))
}

/** Finds out what happened to pushes that `insertRows` did not return. */
export async function findInsertOutcomes(
  database: IntakeDatabase,
  rows: readonly NewRow[],
): Promise<Map<string, InsertOutcome>> {
  const triggers = triggersOf(rows)
  const [, ...found] = await database.crossTenantBatch<FoundOutcome>('keep pushes', [
    { statement: checkTriggersSql(triggers) },
    ...byOrganization(rows).map(([organizationId, own]) => ({
      statement: outcomesSql(organizationId, pushesSql(own, triggers)),
    })),
  ])
  return new Map(found.flat().map((row) => [row.id, toInsertOutcome(row)]))
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

const isUnexpired = sql`(expires_at is null or expires_at > now())`
const isEnabled = sql`imports.disabled_at is null and imports.deleted_at is null`

/** In the order of the organizations: otherwise, two transactions with the same keys could deadlock. */
const byOrganization = (rows: readonly NewRow[]): [string, NewRow[]][] =>
  [...groupBy(rows, ({ organizationId }) => organizationId)].sort(([one], [other]) => (one < other ? -1 : 1))

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

type Triggers = ReadonlyMap<string, { position: number; row: NewRow }>

const triggerKey = ({ importId, triggerHash }: NewRow): string => `${importId} ${triggerHash.toString('base64')}`

/** The different triggers of the rows, numbered. */
function triggersOf(rows: readonly NewRow[]): Triggers {
  const triggers = new Map<string, { position: number; row: NewRow }>()
  for (const row of rows) {
    const key = triggerKey(row)
    if (!triggers.has(key)) triggers.set(key, { position: triggers.size, row })
  }
  return triggers
}

/** Leaves the positions of active triggers to the other statements of the transaction, and says that it counts rows. */
function checkTriggersSql(triggers: Triggers): Sql {
  const all = [...triggers.values()]
  return sql`select ${countsItselfSql},
      set_config('rapport.open_triggers', coalesce(array_agg(push.position), '{}')::text, true)
    from unnest(${all.map(({ position }) => position)}::int[], ${all.map(({ row }) => row.organizationId)}::uuid[],
      ${all.map(({ row }) => row.importId)}::uuid[], ${all.map(({ row }) => row.triggerHash)}::bytea[])
      push (position, organization_id, import_id, hash)
    join import_triggers trigger on trigger.import_id = push.import_id and trigger.hash = push.hash
      and trigger.organization_id = push.organization_id and ${isUnexpired}`
}

const hasOpenTrigger = sql`push.trigger = any(current_setting('rapport.open_triggers')::int[])`

function outcomesSql(organizationId: string, pushes: Sql): Sql {
  const organization = sql`${new Parameter(organizationId)}::uuid`
  return sql`select push.id, own.created_at as own_created_at, imports.id is not null and ${hasOpenTrigger} as is_open,
      key.row_id as stored_id, key.created_at as stored_at, key.request_hash = push.request_hash as is_same
    from ${pushes}
    left join import_rows own on own.organization_id = ${organization} and own.id = push.id
    left join imports on imports.organization_id = ${organization} and imports.id = push.import_id and ${isEnabled}
    left join import_push_keys key on key.organization_id = ${organization}
      and key.import_id = push.import_id and key.key_hash = push.key_hash`
}

function insertSql(organizationId: string, pushes: Sql, rows: readonly NewRow[], hasKeys: boolean): Sql {
  const organization = sql`${new Parameter(organizationId)}::uuid`
  const open = sql`${pushes} join imports on imports.organization_id = ${organization} and imports.id = push.import_id
    where ${hasOpenTrigger} and ${isEnabled}`
  const keys = sql`stored_keys as (
      insert into import_push_keys (organization_id, import_id, key_hash, request_hash, row_id)
      select ${organization}, push.import_id, push.key_hash, push.request_hash, push.id
      from ${open} and push.key_hash is not null
      order by push.import_id, push.key_hash
      on conflict (organization_id, import_id, key_hash) do update
        set request_hash = excluded.request_hash, row_id = excluded.row_id, created_at = excluded.created_at
        where import_push_keys.created_at <= now() - ${raw(`interval '${pushKeyHours} hours'`)}
      returning row_id),`
  return sql`with ${hasKeys ? keys : raw('')} inserted as (
      insert into import_rows (organization_id, id, import_id, payload, parameters)
      select ${organization}, push.id, push.import_id, ${payloadSql(rows)}, push.parameters from ${open}
      ${raw(hasKeys ? 'and (push.key_hash is null or push.id in (select row_id from stored_keys))' : '')}
      on conflict (organization_id, id) do nothing returning id, import_id, status, created_at),
    counted as (${countSql(organization, { after: raw('inserted') })})
    select id, created_at from inserted`
}

function pushesSql(rows: readonly NewRow[], triggers: Triggers): Sql {
  let end = 0
  const starts = rows.map(({ payload }) => (end += payload.length) - payload.length + 1)
  return sql`unnest(${new Parameter(rows.map(({ id }) => id))}::uuid[],
    ${new Parameter(rows.map(({ importId }) => importId))}::uuid[],
    ${new Parameter(rows.map((row) => triggers.get(triggerKey(row))?.position))}::int[],
    ${new Parameter(starts)}::int[], ${new Parameter(rows.map(({ payload }) => payload.length))}::int[],
    ${new Parameter(rows.map(({ parameters }) => parameters))}::jsonb[],
    ${new Parameter(rows.map(({ key }) => key?.keyHash ?? null))}::bytea[],
    ${new Parameter(rows.map(({ key }) => key?.requestHash ?? null))}::bytea[])
    push (id, import_id, trigger, payload_start, payload_length, parameters, key_hash, request_hash)`
}

/** All payloads are sent as one byte array, so that none is decoded, escaped or rewritten on the way. */
const payloadSql = (rows: readonly NewRow[]): Sql =>
  sql`convert_from(substr(${Buffer.concat(rows.map(({ payload }) => payload))}::bytea, push.payload_start, push.payload_length), 'UTF8')::json`
