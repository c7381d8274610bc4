import type { Transaction } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import { type BodyError, invalidBody } from '../../model/errors.ts'
import { decodeId } from '../../model/ids.ts'
import { identifier, isOneOf, preparedForOne, raw, type Sql, sql } from '../../model/sql.ts'
import { andWithinReach } from '../filter/scope.ts'
import { scopeOf } from '../page/read.ts'
import type { Change, PendingChange, WriteSteps } from '../declare/changes.ts'

interface CheckOptions {
  /** Records (uuids) that the caller has created or locked in this transaction. */
  locked: ReadonlySet<string> | undefined
  steps: Pick<WriteSteps, 'lookUps' | 'referable'>
  /** What `lockAhead` returned. */
  known: KnownReferences | undefined
}

/** What was looked up, and what of it exists (uuids), by path. */
export type KnownReferences = ReadonlyMap<
  string,
  { wanted: readonly (string | undefined)[]; found: Promise<ReadonlySet<string>> }
>

/** Records of one table that changes name at one path. */
export interface Named {
  path: string
  label: string
  ids: readonly (string | undefined)[]
  table: string
  key: string
  softDeleted: boolean
  /** The bounds of the caller's reach. */
  bounds: Sql
}

/** Checks that referenced records exist in the organization, and locks them until the transaction ends. Throws 422. */
export async function checkReferences(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
  { locked, steps: { lookUps = {}, referable = {} }, known }: CheckOptions,
): Promise<void> {
  const all = [...namedByFields(transaction, resource, pending), ...namedByProperties(transaction, pending, referable)]
  // Sent together.
  const checks = all.map(async (named): Promise<BodyError[]> => {
    const wanted = wantedOf(named, locked)
    if (wanted.length === 0) return []
    const ahead = known?.get(named.path)
    const isKnown = ahead && wanted.every((id) => ahead.wanted.includes(id))
    const found = await (isKnown
      ? ahead.found
      : (lookUps[named.path]?.(transaction, pending) ?? lockNamed(transaction, named, wanted)))
    return wanted.some((id) => !id || !found.has(id)) ? [missing(named)] : []
  })
  const errors = (await Promise.all(checks)).flat()
  if (errors.length > 0) throw invalidBody(errors)
}

export const missing = ({ path, label }: Named): BodyError => ({
  field: path,
  message: `no ${label.toLowerCase()} with this id exists`,
})

/** Looks up and locks the records that fields name, before it is known which of the changes change anything. */
export function lockAhead(
  transaction: Transaction,
  resource: Resource,
  changes: readonly Pick<Change, 'values'>[],
  { locked, steps: { lookUps = {} } }: Pick<CheckOptions, 'locked' | 'steps'>,
): KnownReferences {
  const entries = namedByFields(transaction, resource, changes).flatMap((named) => {
    const wanted = wantedOf(named, locked)
    if (wanted.length === 0 || named.path in lookUps) return []
    const found = lockNamed(transaction, named, wanted)
    // Thrown where it is needed.
    found.catch(() => undefined)
    return [[named.path, { wanted, found }] as const]
  })
  return new Map(entries)
}

const wantedOf = ({ ids }: Named, locked: ReadonlySet<string> = new Set()) =>
  [...new Set(ids)].filter((id) => !id || !locked.has(id))

async function lockNamed(
  transaction: Transaction,
  { table, key, softDeleted, bounds }: Named,
  wanted: readonly (string | undefined)[],
): Promise<ReadonlySet<string>> {
  const ids = wanted.filter((id) => id !== undefined)
  const rows = await transaction.query<{ id: string }>(
    preparedForOne(
      ids,
      sql`
      select ${identifier(key)} as id from ${identifier(table)}
      where organization_id = ${transaction.organization} and ${isOneOf(identifier(key), ids, 'uuid')}
      ${raw(softDeleted ? 'and deleted_at is null' : '')}${bounds} order by 1 for key share`,
    ),
  )
  return new Set(rows.map(({ id }) => id))
}

/** The records that fields name. */
export function namedByFields(
  transaction: Transaction,
  resource: Resource,
  pending: readonly Pick<PendingChange, 'values'>[],
): Named[] {
  return Object.entries(resource.fields).flatMap(([name, { references, label, idPrefix = '' }]): Named[] => {
    if (!references) return []
    const shown = pending.flatMap(({ values }) => (typeof values[name] === 'string' ? [values[name]] : []))
    const ids = shown.map((id) => decodeId(idPrefix, id))
    return [{ path: name, label, ids, ...references, bounds: withinReachOf(transaction, resource, name) }]
  })
}

/** The records that custom properties name, by property. */
function namedByProperties(
  transaction: Transaction,
  pending: readonly PendingChange[],
  referable: NonNullable<WriteSteps['referable']>,
): Named[] {
  const named = pending.flatMap((change) => change.named)
  return [...new Set(named.map(({ path }) => path))].flatMap((path): Named[] => {
    const [first, ...others] = named.filter((one) => one.path === path)
    if (!first) return []
    const target = referable[first.resource]
    if (!target) throw new Error(`${path}: custom properties cannot refer to ${first.resource}`)
    const { resource, table = resource.table, key = 'id' } = target
    const { idPrefix, softDelete: softDeleted } = resource
    const bounds = andWithinReach(resource, scopeOf(transaction, undefined), identifier(table))
    const ids = [first, ...others].map(({ id }) => decodeId(idPrefix, id))
    return [{ path, label: first.label, ids, table, key, softDeleted, bounds }]
  })
}

/** The bounds of a reference: a record out of the caller's reach cannot be named. */
function withinReachOf(
  transaction: Transaction,
  { fields, embedded, requiredParents = [] }: Resource,
  name: string,
): Sql {
  const others = [...Object.values(embedded), ...requiredParents].map(({ resource }) => resource)
  const other = others.find(({ table }) => table === fields[name]?.references?.table)
  return other ? andWithinReach(other, scopeOf(transaction, undefined), identifier(other.table)) : raw('')
}
