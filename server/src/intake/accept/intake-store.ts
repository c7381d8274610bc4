import type { Database } from '../../platform/database/database.ts'
import type { FixedStatement, OrganizationStatement } from '../../platform/database/fixed-statements.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { combinable, Parameter, previousRows, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { countSql } from '../row-counts/store.ts'
import { addBytesSql } from './push-quota-store.ts'

/** Hours for which the Idempotency-Key of a push is stored. */
export const pushKeyHours = 24

export type IntakeDatabase = Pick<Database, 'crossTenantQuery' | 'crossTenantBatch' | 'writesTablesTogether'>

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
  email?: string | undefined
  /** JSON. */
  parameters: string
  /** Those of the payload and the parameters. */
  bytes: number
  key: { keyHash: Buffer; requestHash: Buffer } | undefined
}

/** How the bytes of pushes are counted. */
export interface ByteCount {
  /** The beginning of the day (UTC). */
  day: Date
  slot: number
  /** Bytes that an import may receive in a day; null: no limit. */
  maxBytes: number | null
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
): Promise<Map<string, OpenImport | ApiError>> {
  const triggers = await database.crossTenantQuery<{ importId: string; organizationId: string; hashes: Buffer[] }>(
    'find the import of a push',
    sql`select import_id as "importId", organization_id as "organizationId", array_agg(hash) as hashes
      from import_triggers where import_id = any(${importIds}::uuid[]) and ${isUnexpired} group by 1, 2`,
    'find the imports of pushes',
  )
  if (triggers.length === 0) return new Map()
  const organizations = [...groupBy(triggers, ({ organizationId }) => organizationId)]
  const statements = organizations.map(([organizationId, all]) => ({
    organizationId,
    statement: enabledImports(
      organizationId,
      all.map(({ importId }) => importId),
    ),
  }))
  const enabled = await database.crossTenantBatch<{ id: string }>('find the import of a push', statements)
  const found = new Map<string, OpenImport | ApiError>()
  for (const [index, [, all]] of organizations.entries()) {
    const result = enabled[index] ?? []
    for (const trigger of all) {
      if (result instanceof ApiError) found.set(trigger.importId, result)
      else if (result.some(({ id }) => id === trigger.importId)) found.set(trigger.importId, trigger)
    }
  }
  return found
}

/**
 * Inserts the rows of pushes whose secret is valid and whose key is new: one statement per organization, all in one
 * network write. Resolves, once durable, to the creation time of each inserted row, and to the error of each one whose
 * organization's statement failed. It may be repeated with the same ids if the outcome of a first attempt is unknown:
 * existing rows are neither inserted again nor returned.
 */
export async function insertRows(
  database: IntakeDatabase,
  rows: readonly NewRow[],
  count: ByteCount,
): Promise<Map<string, Date | ApiError>> {
  const organizations = byOrganization(rows)
  const results = await database.crossTenantBatch<{ id: string; created_at: Date | string }>(
    'keep pushes',
    organizations.map(([organizationId, own]) => {
      const hasKeys = own.some(({ key }) => key !== undefined)
      return (database.writesTablesTogether ? insertTogether : insertSeparately)(organizationId, own, {
        hasKeys,
        count,
      })
    }),
  )
  return mapOf(organizations, results, ({ created_at }) => new Date(created_at))
}

/** Finds out what happened to pushes that `insertRows` did not return. */
export async function findInsertOutcomes(
  database: IntakeDatabase,
  rows: readonly NewRow[],
): Promise<Map<string, InsertOutcome | ApiError>> {
  const organizations = byOrganization(rows)
  const results = await database.crossTenantBatch<FoundOutcome>(
    'keep pushes',
    organizations.map(([organizationId, own]) => ({ organizationId, statement: outcomesSql(organizationId, own) })),
  )
  return mapOf(organizations, results, toInsertOutcome)
}

/** By id of the push. An error is that of all pushes of its organization. */
const mapOf = <Row extends { id: string }, Result>(
  organizations: readonly [string, readonly NewRow[]][],
  results: readonly (Row[] | ApiError)[],
  toResult: (row: Row) => Result,
): Map<string, Result | ApiError> =>
  new Map(
    results.flatMap((result, index): [string, Result | ApiError][] =>
      result instanceof Error
        ? (organizations[index]?.[1] ?? []).map(({ id }) => [id, result])
        : result.map((row) => [row.id, toResult(row)]),
    ),
  )

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
const isEnabled = sql`imports.disabled_at is null and imports.deleted_at is null and not imports.is_suspended`

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

const enabledImports = (organizationId: string, importIds: readonly string[]): FixedStatement => ({
  name: 'find enabled imports',
  values: [organizationId, importIds],
  build: ([organization, ids]) => sql`select id from imports where organization_id = ${organization}::uuid
    and id = any(${ids}::uuid[]) and ${isEnabled}`,
})

function outcomesSql(organizationId: string, rows: readonly NewRow[]): Sql {
  const pushes = pushesOf(valuesOf(organizationId, rows).map((value) => new Parameter(value)))
  const { organization } = pushes
  return sql`select push.id, own.created_at as own_created_at, imports.id is not null and secret.hash is not null as is_open,
      key.row_id as stored_id, key.created_at as stored_at, key.request_hash = push.request_hash as is_same
    from ${pushes.table}
    left join import_rows own on own.organization_id = ${organization} and own.id = push.id
    left join imports on imports.organization_id = ${organization} and imports.id = push.import_id and ${isEnabled}
    left join import_secrets secret on secret.organization_id = ${organization} and secret.import_id = push.import_id
      and secret.hash = push.secret_hash and ${isUnexpired}
    left join import_push_keys key on key.organization_id = ${organization}
      and key.import_id = push.import_id and key.key_hash = push.key_hash`
}

interface Insertion {
  hasKeys: boolean
  count: ByteCount
}

/** One statement for all tables. */
const insertTogether = (
  organizationId: string,
  rows: readonly NewRow[],
  { hasKeys, count }: Insertion,
): OrganizationStatement => ({
  organizationId,
  statement: {
    name: hasKeys ? 'keep pushes with keys' : 'keep pushes',
    values: [...countValues(count), ...valuesOf(organizationId, rows)],
    build: ([day, slot, maxBytes, ...values]) => {
      const pushes = pushesOf(values)
      const storedKeys = sql`and (push.key_hash is null or push.id in (select row_id from stored_keys))`
      const pushed = sql`(select push.import_id, push.bytes from ${pushes.table} join inserted on inserted.id = push.id)`
      return sql`with
        ${hasKeys ? sql`stored_keys as (${insertKeys(pushes)}),` : raw('')}
        inserted as (${insertPushes(pushes, hasKeys ? storedKeys : raw(''))}),
        counted as (${countSql(pushes.organization, { after: raw('inserted') })}),
        added as (${addBytes(pushes, { pushed, count: [day, slot, maxBytes] })})
        select id, created_at from inserted`
    },
  },
})

/** A statement for each table (`writesTablesTogether`). */
function insertSeparately(
  organizationId: string,
  rows: readonly NewRow[],
  { hasKeys, count }: Insertion,
): OrganizationStatement {
  const pushes = pushesOf(valuesOf(organizationId, rows).map((value) => new Parameter(value)))
  const { organization } = pushes
  const storedKeys = sql`and (push.key_hash is null or exists (
    select from import_push_keys key where key.organization_id = ${organization}
      and key.import_id = push.import_id and key.key_hash = push.key_hash and key.row_id = push.id))`
  const after = sql`json_to_recordset(${previousRows}) as inserted(import_id uuid, status text)`
  // Those of this transaction: an earlier attempt may have stored the others.
  const pushed = sql`(select push.import_id, push.bytes from ${pushes.table} join import_rows on
    import_rows.organization_id = ${organization} and import_rows.id = push.id
    and import_rows.created_at = now()::timestamptz(3))`
  return {
    organizationId,
    before: hasKeys ? [insertKeys(pushes)] : [],
    statement: combinable(insertPushes(pushes, hasKeys ? storedKeys : raw(''))),
    after: [
      sql`${countSql(organization, { after: sql`(select * from ${after})` })} returning import_id`,
      addBytes(pushes, { pushed, count: countValues(count).map((value) => new Parameter(value)) }),
    ],
  }
}

const countValues = ({ day, slot, maxBytes }: ByteCount): unknown[] => [day, slot, maxBytes]

const addBytes = (
  { organization }: Pushes,
  { pushed, count: [day, slot, maxBytes] }: { pushed: Sql; count: readonly (Parameter | undefined)[] },
): Sql =>
  addBytesSql(organization, {
    pushed,
    day: sql`${day}::timestamptz`,
    slot: sql`${slot}::smallint`,
    maxBytes: sql`${maxBytes}::bigint`,
  })

/** Pushes as a table, to be joined with others. */
interface Pushes {
  organization: Sql
  table: Sql
  payload: Sql
}

/** Both times are the beginning of their transaction: not every engine accepts now() in the condition. */
const insertKeys = (pushes: Pushes): Sql => sql`
  insert into import_push_keys (organization_id, import_id, key_hash, request_hash, row_id)
  select ${pushes.organization}, push.import_id, push.key_hash, push.request_hash, push.id
  from ${acceptedOf(pushes)} and push.key_hash is not null
  order by push.import_id, push.key_hash
  on conflict (organization_id, import_id, key_hash) do update
    set request_hash = excluded.request_hash, row_id = excluded.row_id, created_at = excluded.created_at
    where excluded.created_at - import_push_keys.created_at >= ${raw(`interval '${pushKeyHours} hours'`)}
  returning row_id`

const insertPushes = (pushes: Pushes, condition: Sql): Sql => sql`
  insert into import_rows (organization_id, id, import_id, payload, parameters, email, email_key)
  select ${pushes.organization}, push.id, push.import_id, ${pushes.payload}, push.parameters, push.email, push.email_key
  from ${acceptedOf(pushes)} ${condition}
  on conflict (organization_id, id) do nothing returning id, import_id, status, created_at`

/** Those whose secret is valid for an enabled import; ends with a condition. */
const acceptedOf = ({ organization, table }: Pushes): Sql => sql`${table}
  join imports on imports.organization_id = ${organization} and imports.id = push.import_id
  join import_secrets secret on secret.organization_id = ${organization} and secret.import_id = push.import_id
    and secret.hash = push.secret_hash and ${isUnexpired}
  where ${isEnabled}`

/** All payloads are sent as one byte array, so that none is decoded, escaped or rewritten on the way. */
function pushesOf(values: readonly Parameter[]): Pushes {
  const [organization, secrets, ids, importIds, positions, starts, lengths, parameters, ...others] = values
  const [bytes, keyHashes, requestHashes, emails, emailKeys, payloads] = others
  return {
    organization: sql`${organization}::uuid`,
    table: sql`(select unnested.*, (${secrets}::bytea[])[secret_position] as secret_hash from
      unnest(${ids}::uuid[], ${importIds}::uuid[], ${positions}::int[], ${starts}::int[], ${lengths}::int[],
      ${parameters}::jsonb[], ${bytes}::int[], ${keyHashes}::bytea[], ${requestHashes}::bytea[], ${emails}::text[], ${emailKeys}::text[])
      unnested (id, import_id, secret_position, payload_start, payload_length, parameters, bytes, key_hash, request_hash,
        email, email_key)) push`,
    payload: sql`convert_from(substr(${payloads}::bytea, push.payload_start, push.payload_length), 'UTF8')::json`,
  }
}

/** The values of `pushesOf`. The secrets are sent once, because pushes of a batch have few of them. */
function valuesOf(organizationId: string, rows: readonly NewRow[]): unknown[] {
  const secrets: Buffer[] = []
  const positions = rows.map(({ triggerHash }) => {
    const index = secrets.findIndex((secret) => secret.equals(triggerHash))
    return index < 0 ? secrets.push(triggerHash) : index + 1
  })
  let end = 0
  return [
    organizationId,
    secrets,
    rows.map(({ id }) => id),
    rows.map(({ importId }) => importId),
    positions,
    rows.map(({ payload }) => (end += payload.length) - payload.length + 1),
    rows.map(({ payload }) => payload.length),
    rows.map(({ parameters }) => parameters),
    rows.map(({ bytes }) => bytes),
    rows.map(({ key }) => key?.keyHash ?? null),
    rows.map(({ key }) => key?.requestHash ?? null),
    rows.map(({ email }) => email ?? null),
    rows.map(({ email }) => (email === undefined ? null : emailKey(email))),
    Buffer.concat(rows.map(({ payload }) => payload)),
  ]
}
