import type { Transaction } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import { identifier, prepared, raw, sql } from '../../model/sql.ts'
import { andWithinReach } from '../filter/scope.ts'
import { parentNotFound, scopeOf } from '../page/read.ts'
import type { WriteSteps } from '../declare/changes.ts'

/** Checks that the parent in the path exists, and keeps it until the transaction ends. Throws 404. */
export async function assertParent(
  transaction: Transaction,
  resource: Resource,
  parentId: string | undefined,
  { changesSiblings }: WriteSteps = {},
): Promise<void> {
  if (!resource.parent || parentId === undefined) return
  const { resource: parent } = resource.parent
  const rows = await transaction.query(
    prepared(sql`
    select id from ${identifier(parent.table)}
    where organization_id = ${transaction.organization} and id = ${parentId}::uuid
    ${raw(parent.softDelete ? 'and deleted_at is null' : '')}${andWithinReach(parent, scopeOf(transaction, undefined), identifier(parent.table))}
    for ${raw(changesSiblings ? 'no key update' : 'key share')}`),
  )
  if (rows.length === 0) throw parentNotFound(resource)
}
