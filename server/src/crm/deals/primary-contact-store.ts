import type { Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { changeEventsSql } from '../../platform/records/write/events.ts'
import { dealContacts } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

/**
 * A deal (uuid) has at most one primary contact: the last link that asks for it, and it is taken from the others. A
 * restored link does not get it back. The deal must be locked.
 */
export async function movePrimary(
  transaction: Transaction,
  pending: readonly PendingChange[],
  dealId: string,
): Promise<void> {
  for (const { before, values, columns } of pending)
    if (before?.isPrimary === true && columns.deleted_at === null) values.isPrimary = false
  const requesting = pending.filter(({ values }) => values.isPrimary === true)
  const holder = requesting.at(-1)
  if (!holder) return
  for (const one of requesting) if (one !== holder) one.values.isPrimary = false
  const changed = raw(
    `select id, revision, updated_at as at, '[]'::jsonb as changes, '{"isPrimary":false}' as "values" from former`,
  )
  await transaction.query(sql`
    with former as (
      update deal_contacts set is_primary = false, revision = revision + 1, updated_at = now()
      where organization_id = ${transaction.organization} and deal_id = ${dealId}::uuid and deleted_at is null
        and is_primary and id <> ${holder.id}::uuid
      returning id, revision, updated_at)
    ${changeEventsSql(transaction, dealContacts, 'updated', changed)}`)
}
