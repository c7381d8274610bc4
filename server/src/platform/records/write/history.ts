import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../../database/database.ts'
import type { Actor } from '../../model/caller.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { changesTable } from '../declare/tables.ts'
import { newId } from '../../model/ids.ts'
import { identifier, type Parameter, type Sql, sql } from '../../model/sql.ts'
import type { PendingChange } from '../declare/changes.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

/** What a change did to a record. */
export const changeActions = ['created', 'updated', 'deleted', 'restored', 'blocked', 'unblocked'] as const
export type ChangeAction = (typeof changeActions)[number]

/** Who made a change: a logged-in person, an API key, an import, a command of the operator, or the analysis of a note. */
export const changeSources = ['person', 'api_key', 'import', 'command', 'analysis'] as const
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
  analysis: 'analysis',
  maintenance: 'command',
}

/** Who makes the changes of this actor, as the history names it. */
export const sourceOfChange = ({ kind }: Actor): ChangeSource => sources[kind]

/** Records the changes of a set. Undefined if there is nothing to record. */
export function historySql(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
): Sql | undefined {
  const rows = pending.flatMap((change) => historyRow(resource, change) ?? [])
  if (rows.length === 0) return undefined
  const { organization, actor } = transaction
  return sql`insert into ${tableOf(resource)} (organization_id, id, ${ownerOf(resource)}, action, changes, import_id,
        import_row_id, source, author_id)
      select ${organization}, change.*, ${sourceOfChange(actor)}::text, ${actor.userId}::uuid
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as change(
        id uuid, record_id uuid, action text, changes jsonb, import_id uuid, import_row_id uuid)`
}

/** The same for the statement that creates one record. `id`: the uuid of the row. */
export const creationHistorySql = (
  { organization, actor }: Transaction,
  resource: Resource,
  id: Parameter,
): Sql => sql`,
    history as (
      insert into ${tableOf(resource)} (organization_id, id, ${ownerOf(resource)}, action, changes, source, author_id)
      select ${organization}, ${id}::uuid, id, 'created', '[]', ${sourceOfChange(actor)}::text, ${actor.userId}::uuid
      from written)`

const tableOf = (resource: Resource): Sql => identifier(changesTable(resource))
const ownerOf = ({ singular }: Resource): Sql => identifier(columnOf(`${singular}Id`))

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
