import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../database/database.ts'
import type { Actor } from '../model/caller.ts'
import { columnOf, type Resource } from '../model/define.ts'
import type { JsonObject, JsonValue } from '../model/fields.ts'
import { newId } from '../model/ids.ts'
import { identifier, prepared, type Sql, sql } from '../model/sql.ts'
import type { PendingChange } from './write.ts'

/** What a change did to a record. */
export const changeActions = ['created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked'] as const
export type ChangeAction = (typeof changeActions)[number]

/** Who made a change: a person who is logged in, an API key, an import, or a command of the operator. */
export const changeSources = ['person', 'api_key', 'import', 'command'] as const
export type ChangeSource = (typeof changeSources)[number]

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
  maintenance: 'command',
}

/** Records the changes of a set, one row for each changed record. */
export async function recordHistory(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
): Promise<void> {
  const rows = pending.flatMap((change) => historyRow(resource, change) ?? [])
  if (rows.length === 0) return
  await transaction.query(
    prepared(sql`
    with change as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change(
        id uuid, record_id uuid, action text, changes jsonb, import_id uuid, import_row_id uuid))
    ${insertSql(transaction, resource)}`),
  )
}

/** Inserts the rows of `change` into the history of a resource. */
const insertSql = ({ organization, actor }: Transaction, { singular }: Resource): Sql => sql`
  insert into ${identifier(`${singular}_changes`)} (organization_id, id, ${identifier(columnOf(`${singular}Id`))},
    action, source, author_id, changes, import_id, import_row_id)
  select ${organization}, id, record_id, action, ${sources[actor.kind]}::text, ${actor.userId}::uuid, changes,
    import_id, import_row_id from change`

/** The row that the history has of a single new record, as parts of the statement that creates it. */
export const creationHistory = (transaction: Transaction, resource: Resource): Sql =>
  sql`history as (
    with change as (
      select new_id() as id, id as record_id, 'created' as action, '[]'::jsonb as changes, null::uuid as import_id,
        null::uuid as import_row_id
      from written)
    ${insertSql(transaction, resource)})`

function historyRow(resource: Resource, change: PendingChange): JsonObject | undefined {
  if (!resource.history) return undefined
  const action = actionOf(change)
  const changes = action === 'updated' ? fieldChanges(resource, resource.history.except, change) : []
  if (action === 'updated' && changes.length === 0) return undefined
  const { id, origin } = change
  return {
    id: newId(),
    record_id: id,
    action,
    changes: changes.map((one) => ({ ...one })),
    ...(origin && { import_id: origin.importId, import_row_id: origin.rowId }),
  }
}

function actionOf({ before, columns }: PendingChange): ChangeAction {
  if (!before) return 'created'
  if (columns.deleted_at !== undefined) return columns.deleted_at === null ? 'restored' : 'deleted'
  if (columns.blocked_at !== undefined) return columns.blocked_at === null ? 'unblocked' : 'blocked'
  return 'updated'
}

/** What callers can set and have set; what follows from it is left out. */
function fieldChanges({ fields }: Resource, except: readonly string[], { before = {}, values }: PendingChange) {
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
