import { isDeepStrictEqual } from 'node:util'
import type { CrossTenantConnection, Transaction } from '../../database/database.ts'
import type { Actor } from '../../model/caller.ts'
import { encodeId, newId } from '../../model/ids.ts'
import { identifier, type Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { columnOf, isInFeed, type Resource } from '../declare/define.ts'
import type { ChangeSource, EventKind } from '../declare/event-kinds.ts'
import { entriesOf } from '../declare/address-lists.ts'
import { root } from '../filter/target.ts'
import { ownText } from '../page/select.ts'
import type { PendingChange } from '../declare/changes.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

/** A changed field, or a key of a changed object, such as `customProperties.plan`. Null means that there was no value. */
export interface FieldChange {
  field: string
  before: JsonValue
  after: JsonValue
}

const sources: Readonly<Record<Actor['kind'], ChangeSource>> = {
  session: 'person',
  key: 'api_key',
  work: 'import',
  command: 'command',
  analysis: 'analysis',
  maintenance: 'command',
}

/** What an event says about the resource of its record. */
export type EventSubject = Pick<Resource, 'singular' | 'history'>

/** The columns of `events` for it, and their values. */
const subjectColumns = raw('resource, is_history')
const subjectOf = ({ singular, history }: EventSubject): Sql => raw(`'${singular}'::text, ${history !== undefined}`)

/** The columns of `events` that say who makes the changes of a transaction, and their values. */
const causeColumns = raw('source, author_id, key_id')
export const causeOf = ({ actor }: Pick<Transaction, 'actor'>): Sql =>
  sql`${sources[actor.kind]}::text, ${actor.userId}::uuid, ${actor.kind === 'key' ? (actor.credentialId ?? null) : null}::uuid`

/**
 * Records the changes of a set. Undefined if there is nothing to record. `source`: where the written records are found.
 */
export function eventsSql(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
  source: 'written' | 'table',
): Sql | undefined {
  const rows = pending.flatMap((change) => eventRow(resource, change) ?? [])
  if (rows.length === 0) return undefined
  const hasWhole = rows.some(({ values }) => values === undefined)
  const record = raw(root)
  const from =
    source === 'written'
      ? sql`written ${record} on change."values" is null and ${record}.id = change.record_id`
      : sql`${identifier(resource.table)} ${record} on change."values" is null
          and ${record}.organization_id = ${transaction.organization} and ${record}.id = change.record_id`
  const values = hasWhole ? sql`coalesce(change."values", ${ownText(resource, source)}::json)` : sql`change."values"`
  return sql`insert into events (organization_id, id, record_id, kind, revision, changes, "values", import_id, import_row_id,
        created_at, hidden_at, ${subjectColumns}, ${causeColumns})
      select ${transaction.organization}, change.id, change.record_id, change.kind, change.revision, change.changes,
        ${values}, change.import_id, change.import_row_id, change.at, change.hidden_at, ${subjectOf(resource)}, ${causeOf(transaction)}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change(
        id uuid, record_id uuid, kind text, revision integer, changes jsonb, "values" json, import_id uuid,
        import_row_id uuid, at timestamptz, hidden_at timestamptz)
      ${hasWhole ? sql`left join ${from}` : raw('')}`
}

/** The same for the statement that creates one record. `id`: the uuid of the event. */
export const creationEventSql = (transaction: Transaction, resource: Resource, id: Parameter): Sql => sql`,
    event as (
      insert into events (organization_id, id, record_id, kind, revision, changes, "values", ${subjectColumns}, ${causeColumns})
      select ${transaction.organization}, ${id}::uuid, ${raw(root)}.id, 'created', 1, '[]', ${ownText(resource, 'written')}::json,
        ${subjectOf(resource)}, ${causeOf(transaction)}
      from written ${raw(root)})`

/**
 * A part of a statement that records changes which it makes itself. `changed` is a query of `id`, `revision` (null if the
 * change does not count as one), `changes` for timelines, the new `"values"`, and `at`, the new `updated_at`: a server with
 * the records need not have the same now().
 */
export const changeEventsSql = (
  transaction: Transaction,
  resource: EventSubject,
  kind: EventKind,
  changed: Sql,
): Sql => sql`
      insert into events (organization_id, id, record_id, kind, revision, changes, created_at, hidden_at, "values", ${subjectColumns},
        ${causeColumns})
      select ${transaction.organization}, new_id(), changed.id, ${raw(`'${kind}'`)}, changed.revision, changed.changes,
        changed.at, case when changed.changes = '[]' then changed.at end, changed."values"::json, ${subjectOf(resource)}, ${causeOf(transaction)}
      from (${changed}) changed`

/** A part of a statement that deletes records forever, whose ids are in `removed`. Their events must be empty. */
export const removalEventsSql = (
  transaction: Transaction,
  subject: EventSubject,
  kind: 'purged' | 'erased',
): Sql => sql`,
    recorded as (
      insert into events (organization_id, id, record_id, kind, changes, ${subjectColumns}, ${causeColumns})
      select ${transaction.organization}, new_id(), id, ${raw(`'${kind}'`)}, '[]',
        ${subjectOf({ singular: subject.singular })}, ${causeOf(transaction)}
      from removed)`

export const emptiedAtOnce = 2000

/** Takes the values out of the next events of these locked records (uuids). Of `emptiedAtOnce`, there may be more. */
export async function emptyEvents(
  { organization, query }: Transaction,
  recordIds: readonly string[],
): Promise<readonly string[]> {
  if (recordIds.length === 0) return []
  // Two statements: the second one sees what a transaction has changed for which the lock has waited. By their places in
  // the table, because without statistics a join may compare each event with each.
  const next = await query<{ place: string }>(sql`
    select ctid::text as place from events
    where organization_id = ${organization} and record_id = any(${recordIds}::uuid[])
      and ("values" is not null or changes <> '[]' or is_history)
    limit ${emptiedAtOnce} for no key update`)
  const emptied = await query<{ id: string }>(sql`
    update events set "values" = null, changes = '[]', is_history = false
    where organization_id = ${organization} and ctid = any(${next.map(({ place }) => place)}::text[]::tid[]) returning id`)
  return emptied.map(({ id }) => id)
}

/** A statement that records the creation of stored records which `isNew`, a condition on `record`, selects. */
export const creationEventsSql = (resource: Resource, organization: Sql, cause: Sql, isNew: Sql): Sql => sql`
  insert into events (organization_id, id, record_id, kind, revision, changes, "values", ${subjectColumns}, ${causeColumns})
  select ${organization}, new_id(), ${raw(root)}.id, 'created', 1, '[]', ${ownText(resource, 'table')}::json,
    ${subjectOf(resource)}, ${cause}
  from ${identifier(resource.table)} ${raw(root)} where ${raw(root)}.organization_id = ${organization} and ${isNew} returning id`

/** Records the creation of what a new organization (uuid) starts with. */
export async function recordFirstRecords(
  db: CrossTenantConnection,
  organizationId: string,
  resource: Resource,
): Promise<void> {
  const cause = raw(`'command'::text, null::uuid, null::uuid`)
  await db.query(creationEventsSql(resource, sql`${organizationId}::uuid`, cause, raw('true')))
}

interface EventRow extends JsonObject {
  id: string
  record_id: string
  kind: EventKind
  revision: number
  changes: JsonValue
  at: string
}

function eventRow(resource: Resource, change: PendingChange): (EventRow & { values?: JsonObject }) | undefined {
  if (!isInFeed(resource)) return undefined
  const kind = kindOf(resource, change)
  const isWhole = kind === 'created' || kind === 'restored'
  const values = isWhole ? undefined : newValues(resource, change)
  if (kind === 'updated' && Object.keys(values ?? {}).length === 0) return undefined
  const isPlain = kind === 'created' || kind === 'deleted' || kind === 'restored'
  const changes = isPlain ? [] : fieldChanges(resource, change).map((one) => ({ ...one }))
  const isHidden = changes.length === 0 && (kind === 'updated' || kind === 'moved')
  const { id, before, revision, origin } = change
  return {
    id: newId(),
    record_id: id,
    kind,
    revision: before ? revision + 1 : 1,
    changes,
    at: 'now',
    ...(isHidden && { hidden_at: 'now' }),
    ...(values && { values }),
    ...(origin && { import_id: origin.importId, import_row_id: origin.rowId }),
  }
}

function kindOf({ eventKind }: Resource, change: PendingChange): EventKind {
  const { before, columns } = change
  if (!before) return 'created'
  if (columns.deleted_at !== undefined) return columns.deleted_at === null ? 'restored' : 'deleted'
  return eventKind?.({ ...change, before }) ?? 'updated'
}

/** The changed fields as the API shows them; a time that is `now` is that of the event. */
function newValues(resource: Resource, { before, values, columns }: PendingChange): JsonObject {
  const { fields } = resource.viewOf ?? resource
  const ofLists = Object.entries(fields).flatMap(([name, { list }]): [string, JsonValue][] =>
    list && list.primary in values && !(name in values)
      ? [[name, entriesOf(list, name, { ...before, ...values })]]
      : [],
  )
  const ofColumns = Object.entries(fields).flatMap(([name, { idPrefix }]): [string, JsonValue][] => {
    const value = columns[columnOf(name)]
    if (value === undefined || name in values) return []
    return [[name, idPrefix !== undefined && typeof value === 'string' ? encodeId(idPrefix, value) : value]]
  })
  return Object.fromEntries([...Object.entries(values), ...ofLists, ...ofColumns])
}

/** What callers can set and have set; what follows from it is left out. */
function fieldChanges({ fields, history }: Resource, { before = {}, values }: PendingChange): FieldChange[] {
  const except = history?.except ?? []
  return Object.keys(values).flatMap((name): FieldChange[] => {
    const field = fields[name]
    if (!field?.writable || except.includes(name)) return []
    const [old, current] = [before[name] ?? null, values[name] ?? null]
    return field.filter === 'properties'
      ? keyChanges(name, old, current)
      : [{ field: name, before: old, after: current }]
  })
}

/** One change for each key of an object whose value differs. */
function keyChanges(name: string, before: JsonValue, after: JsonValue): FieldChange[] {
  const [old, current] = [objectOf(before), objectOf(after)]
  return [...new Set([...Object.keys(old), ...Object.keys(current)])]
    .filter((key) => !isDeepStrictEqual(old[key], current[key]))
    .map((key) => ({ field: `${name}.${key}`, before: old[key] ?? null, after: current[key] ?? null }))
}

const objectOf = (value: JsonValue): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
