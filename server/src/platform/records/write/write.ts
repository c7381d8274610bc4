import { isDeepStrictEqual } from 'node:util'
import type { Transaction } from '../../database/database.ts'
import { ApiError, invalidBody } from '../../model/errors.ts'
import { createInOneStatement } from './create-in-one-statement.ts'
import { lockRecords, wholeOf } from './current.ts'
import { displayNoun, initialValues, type Resource } from '../declare/define.ts'
import { newId, encodeId } from '../../model/ids.ts'
import { definableField, namedRecords, objectOf, parseDeclared } from '../properties/values.ts'
import { mergePatch } from '../declare/json-objects.ts'
import { isSettling, lastKnownSet, lockPropertySet } from '../properties/sets.ts'
import { checkReferences, lockAhead } from './references.ts'
import { syncUniqueValues, touchesUniqueValues } from './unique-values.ts'
import { assertWithinLimit } from './limit.ts'
import { mayNotChange, notDeleted, notFound } from '../page/read.ts'
import { assertParent } from './parent.ts'
import { insert, update } from './write-statements.ts'
import type {
  Change,
  WrittenRecord,
  PendingChange,
  WriteSteps,
  SingleStatementCreate,
  CurrentRow,
} from '../declare/changes.ts'
import type { JsonValue, JsonObject } from '../../model/json.ts'
import type { PropertySet } from '../declare/field.ts'

export interface WriteOptions {
  parentId?: string | undefined
  steps?: WriteSteps
  /** Must include each changed record, locked and read. Nothing is rendered: `text` is empty, `after` as requested. */
  preloaded?: ReadonlyMap<string, CurrentRow> | undefined
  /** Records (uuids) that the caller has created or locked in this transaction: references to them are not checked. */
  locked?: ReadonlySet<string>
  /** True if the caller sends nothing after it, and nothing before a create: the write may commit. */
  isSoleOperation?: boolean | undefined
  /** Something that the caller has sent, and that `columns` of the changes need. */
  sent?: Promise<void> | undefined
  /** True for imports and example data, which nobody can complete: required custom properties may be missing. */
  mayLackRequired?: boolean
}

/**
 * The only write of a resource, for HTTP, imports and bulk changes: many records at once, in the given order. Throws
 * 404, 412, 422 with every error, or `UniqueConflict`.
 */
export async function writeSet(
  transaction: Transaction,
  resource: Resource,
  changes: readonly Change[],
  { parentId, steps = {}, preloaded, locked, isSoleOperation, sent, mayLackRequired = false }: WriteOptions = {},
): Promise<WrittenRecord[]> {
  if (isSoleOperation && parentId === undefined && steps.singleStatement) {
    const created = await tryOneStatement(transaction, resource, changes, steps.singleStatement)
    if (created) return [created]
  }
  // Sent together. The definitions come before the records, as in every transaction, so that none waits for the other.
  const reading = Promise.all([
    sent,
    assertParent(transaction, resource, parentId, steps),
    concernsProperties(resource, changes) ? lockPropertySet(transaction, resource) : undefined,
    preloaded ?? lockRecords(transaction, resource, changes, parentId),
  ])
  reading.catch(() => undefined)
  const known = preloaded ? undefined : lockAhead(transaction, resource, changes, { locked, steps })
  const ahead = steps.readAhead?.(transaction, changes)
  ahead?.catch(() => undefined)
  const [, , set, current] = await reading
  await ahead
  const pending = changes.map((change) =>
    prepareChange(transaction, resource, change, { current, set, mayLackRequired }),
  )
  await checkReferences(transaction, resource, pending, { locked, steps, known })
  await assertWithinLimit(transaction, resource, pending, parentId)
  await steps.beforeWrite?.(transaction, pending, parentId)
  const created = pending.filter(({ before }) => before === undefined)
  const updated = pending.filter((one) => one.before !== undefined && hasChange(one))
  const isReturned = preloaded === undefined
  // Sent in this order, without waiting for the first result.
  steps.alongWrite?.(transaction, pending)
  const writing = Promise.all([
    insert(transaction, resource, { pending: created, parentId, set, isReturned }),
    update(transaction, resource, { pending: updated, set, isReturned }),
  ])
  steps.followWrite?.(transaction, pending)
  const hasUniqueValues = set !== undefined && pending.some((one) => touchesUniqueValues(resource, set, one))
  if (isSoleOperation && !hasUniqueValues && !steps.afterWrite) transaction.finish()
  const rows = await writing
  const byId = new Map(rows.flat().map((row) => [row.id, row]))
  const written = pending.map(({ id, before, revision, values }) => {
    const row = byId.get(id)
    if (row && preloaded) return { id, before, after: { ...before, ...values }, text: '', revision: row.revision }
    // Nothing changed: the record and its revision stay the same.
    if (!row) return { id, before, after: before ?? {}, text: current.get(id)?.text ?? '', revision }
    return { id, before, after: wholeOf(row), text: row.text, revision: row.revision }
  })
  if (hasUniqueValues) await syncUniqueValues(transaction, resource, set, pending)
  await steps.afterWrite?.(transaction, written, pending)
  return written
}

/**
 * Creates a single record with a single statement. Undefined if that is not enough, or if the record is invalid by the
 * definitions that this process read last: they may have changed.
 */
async function tryOneStatement(
  transaction: Transaction,
  resource: Resource,
  [only, ...others]: readonly Change[],
  singleStatement: SingleStatementCreate,
): Promise<WrittenRecord | undefined> {
  const run = transaction.runSingle
  if (only?.kind !== 'create' || others.length > 0 || !run) return undefined
  const set = lastKnownSet(transaction, resource)
  if (definableField(resource) !== undefined && (!set || isSettling(transaction, resource))) return undefined
  let pending: PendingChange
  try {
    pending = prepareChange(transaction, resource, only, { current: new Map(), set, mayLackRequired: false })
  } catch (error) {
    if (set && error instanceof ApiError) return undefined
    throw error
  }
  const needsMore = pending.named.length > 0 || (set && touchesUniqueValues(resource, set, pending))
  if (needsMore || !singleStatement.applies(transaction, pending)) return undefined
  return createInOneStatement(transaction, resource, pending, { singleStatement, set, run })
}

/** Does a change set custom properties, or does it delete or restore a record that may have them? */
const concernsProperties = (resource: Resource, changes: readonly Change[]): boolean => {
  const name = definableField(resource)
  return (
    name !== undefined &&
    changes.some((change) => change.kind === 'create' || change.lifecycle !== undefined || name in change.values)
  )
}

interface WriteContext {
  current: ReadonlyMap<string, CurrentRow>
  set: PropertySet | undefined
  mayLackRequired: boolean
}

function prepareChange(
  { actor }: Transaction,
  resource: Resource,
  change: Change,
  { current, set, mayLackRequired }: WriteContext,
): PendingChange {
  if (change.kind === 'create') {
    const values = { ...initialValues(resource), ...ownerOf(resource, actor), ...change.values }
    return prepareValues(resource, {
      id: change.id ?? newId(),
      before: undefined,
      ...withDeclared(resource, set, { values, before: undefined, mayLackRequired }),
      columns: change.columns ?? {},
      revision: 1,
      origin: change.origin,
    })
  }
  const row = current.get(change.id)
  if (!row) throw change.lifecycle === 'restore' ? notDeleted(resource) : notFound(resource)
  if (resource.reach?.mayChange?.(actor, row.record) === false) throw mayNotChange(resource)
  if (change.revisions && !change.revisions.includes(row.revision)) {
    throw new ApiError(
      'precondition_failed',
      `The ${displayNoun(resource.singular)} has changed since you read it; read it again.`,
    )
  }
  const before = row.record
  const values = Object.fromEntries(
    Object.entries(change.values).map(([name, value]) => [name, mergeValue(resource, name, before[name], value)]),
  )
  const columns = { ...lifecycleColumns(change.lifecycle), ...change.columns?.(before) }
  const { id, origin } = change
  const declared = withDeclared(resource, set, { values, before, mayLackRequired })
  return prepareValues(resource, { id, before, ...declared, columns, revision: row.revision, origin }, row.dangling)
}

const lifecycleColumns = (lifecycle: 'delete' | 'restore' | undefined): Record<string, JsonValue> =>
  lifecycle === undefined ? {} : { deleted_at: lifecycle === 'delete' ? 'now' : null }

/** The values with custom properties that follow their definitions, and the records that those name. Throws 422. */
function withDeclared(
  resource: Resource,
  set: PropertySet | undefined,
  {
    values,
    before: record,
    mayLackRequired,
  }: { values: JsonObject; before: JsonObject | undefined; mayLackRequired: boolean },
): Pick<PendingChange, 'values' | 'named'> {
  const name = definableField(resource)
  if (!set || name === undefined || values[name] === undefined) return { values, named: [] }
  const before = record && objectOf(record[name])
  const wanted = objectOf(values[name])
  const after = parseDeclared(set, { name, before, wanted }, { checksRequired: !mayLackRequired })
  return { values: { ...values, [name]: after }, named: namedRecords(set, name, before, after) }
}

/** A person who does not see everything owns what they create, unless they choose somebody else. */
function ownerOf({ reach, singular }: Resource, { userId, reach: personal }: Transaction['actor']): JsonObject {
  if (reach?.ownerField === undefined || personal?.levels[singular] === undefined || userId === null) return {}
  return { [reach.ownerField]: encodeId('usr', userId) }
}

/** Objects are merged (RFC 7396) and validated as a whole; other values are replaced. */
function mergeValue(resource: Resource, name: string, before: JsonValue | undefined, value: JsonValue): JsonValue {
  const field = resource.fields[name]
  if (field?.filter !== 'properties') return value
  const whole = mergePatch(before, value)
  const normalized = (field.checkMerged ?? field.normalize)?.(whole)
  if (normalized && 'error' in normalized) throw invalidBody([{ field: name, message: normalized.error }])
  return normalized?.value ?? whole
}

function prepareValues(resource: Resource, pending: PendingChange, dangling: readonly string[] = []): PendingChange {
  const result = resource.prepare?.(pending.values, pending.before)
  if (result?.errors && result.errors.length > 0) throw invalidBody(result.errors)
  const all = result?.values ?? pending.values
  const { before } = pending
  const values = before ? changesOf(before, all, dangling) : all
  const hidden = !before || Object.keys(values).length > 0 ? (result?.hidden ?? {}) : {}
  return { ...pending, values, columns: { ...hidden, ...pending.columns } }
}

/** The values that differ from the record, or that it does not show. */
function changesOf(before: JsonObject, values: JsonObject, dangling: readonly string[]): JsonObject {
  const changed = Object.entries(values).filter(
    ([name, value]) => !isDeepStrictEqual(before[name], value) || dangling.includes(name),
  )
  return Object.fromEntries(changed)
}

const hasChange = ({ values, columns }: PendingChange): boolean =>
  Object.keys(values).length > 0 || Object.keys(columns).length > 0
