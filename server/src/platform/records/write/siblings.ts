import type { Transaction } from '../../database/database.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { identifier, prepared, raw, type Sql, sql } from '../../model/sql.ts'
import { andWithinReach } from '../filter/scope.ts'
import { parentNotFound, scopeOf } from '../page/read.ts'
import type { PendingChange } from '../declare/changes.ts'

/** Can writing one record change others of its parent? If so, a lock on the parent serializes its writers. */
export const affectsSiblings = ({ positionField, fields }: Resource): boolean =>
  positionField !== undefined || Object.values(fields).some(({ exclusive }) => exclusive)

/** Checks that the parent in the path exists, and keeps it until the transaction ends. Throws 404. */
export async function assertParent(
  transaction: Transaction,
  resource: Resource,
  parentId: string | undefined,
): Promise<void> {
  if (!resource.parent || parentId === undefined) return
  const { resource: parent } = resource.parent
  const rows = await transaction.query(
    prepared(sql`
    select id from ${identifier(parent.table)}
    where organization_id = ${transaction.organization} and id = ${parentId}::uuid
    ${raw(parent.softDelete ? 'and deleted_at is null' : '')}${andWithinReach(parent, scopeOf(transaction, undefined), identifier(parent.table))}
    for ${raw(affectsSiblings(resource) ? 'no key update' : 'key share')}`),
  )
  if (rows.length === 0) throw parentNotFound(resource)
}

/** Maintains the order of a parent's records, and flags that only one of them has. The parent must be locked. */
export async function arrangeSiblings(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
  parentId: string | undefined,
): Promise<void> {
  if (!affectsSiblings(resource)) return
  if (!resource.parent || parentId === undefined) throw new Error(`${resource.name} are written under their parent`)
  const siblings = sql`organization_id = ${transaction.organization}
    and ${identifier(resource.parent.column)} = ${parentId}::uuid ${raw(resource.softDelete ? 'and deleted_at is null' : '')}`
  if (resource.positionField !== undefined) await arrangeOrder(transaction, resource, pending, siblings)
  for (const [name, { exclusive }] of Object.entries(resource.fields)) {
    if (exclusive) await moveFlag(transaction, resource, pending, { name, siblings })
  }
}

const isDeleted = ({ columns }: PendingChange): boolean => typeof columns.deleted_at === 'string'
const isRestored = ({ before, columns }: PendingChange): boolean => before !== undefined && columns.deleted_at === null

/** Moves each record of the set to its position, one after the other, and shifts the others as needed. */
async function arrangeOrder(
  transaction: Transaction,
  { table, positionField: name = '' }: Resource,
  pending: readonly PendingChange[],
  siblings: Sql,
): Promise<void> {
  const moving = pending.filter((one) => !one.before || name in one.values || isDeleted(one) || isRestored(one))
  if (moving.length === 0) return
  const column = identifier(columnOf(name))
  const siblingRows = await transaction.query<{ id: string; position: number }>(
    sql`select id, ${column} as position from ${identifier(table)} where ${siblings} order by ${column}, id`,
  )
  const order = siblingRows.map(({ id }) => id)
  for (const one of moving) {
    const current = order.indexOf(one.id)
    if (current >= 0) order.splice(current, 1)
    const wanted = one.values[name] ?? (isRestored(one) ? one.before?.[name] : undefined) ?? order.length
    if (!isDeleted(one)) order.splice(Number(wanted), 0, one.id)
  }
  const positions = new Map(order.map((id, position) => [id, position]))
  for (const one of moving) {
    const position = positions.get(one.id)
    if (position !== undefined) one.values[name] = position
  }
  const others = siblingRows.filter(({ id, position }) => positions.has(id) && positions.get(id) !== position)
  if (others.length === 0) return
  await transaction.query(sql`
    update ${identifier(table)} sibling set ${column} = moved.position
    from jsonb_to_recordset(${JSON.stringify(others.map(({ id }) => ({ id, position: positions.get(id) })))}::jsonb)
      as moved(id uuid, position integer)
    where sibling.organization_id = ${transaction.organization} and sibling.id = moved.id`)
}

/** The last record that sets the flag gets it. A restored record does not get it back. */
async function moveFlag(
  transaction: Transaction,
  { table }: Resource,
  pending: readonly PendingChange[],
  { name, siblings }: { name: string; siblings: Sql },
): Promise<void> {
  for (const one of pending.filter((other) => isRestored(other) && other.before?.[name] === true))
    one.values[name] = false
  const requesting = pending.filter(({ values }) => values[name] === true)
  const holder = requesting.at(-1)
  if (!holder) return
  for (const one of requesting) if (one !== holder) one.values[name] = false
  const column = identifier(columnOf(name))
  await transaction.query(sql`
    update ${identifier(table)} set ${column} = false, revision = revision + 1, updated_at = now()
    where ${siblings} and ${column} and id <> ${holder.id}::uuid`)
}
