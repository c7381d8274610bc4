import type { Transaction } from '../../database/database.ts'
import { displayNoun, type Resource } from '../declare/define.ts'
import { ApiError } from '../../model/errors.ts'
import { identifier, raw, sql } from '../../model/sql.ts'
import type { PendingChange } from '../declare/changes.ts'

/**
 * Holds an organization, or a parent, to the number of records that the resource allows, deleted ones not counted. A
 * lock until the transaction ends lets no other request add one meanwhile. Error: 409.
 */
export async function assertWithinLimit(
  transaction: Transaction,
  resource: Resource,
  pending: readonly PendingChange[],
  parentId: string | undefined,
): Promise<void> {
  const { limit, table, parent } = resource
  const added = pending.filter(({ before, columns }) => before === undefined || columns.deleted_at === null).length
  if (!limit || added === 0) return
  const { organization } = transaction
  await transaction.query(limit.lock(organization))
  const ofParent = parent && parentId !== undefined ? sql`and ${identifier(parent.column)} = ${parentId}::uuid` : sql``
  const [row] = await transaction.query<{ count: number }>(sql`
    select count(*)::integer as count from ${identifier(table)}
    where organization_id = ${organization} and ${raw(limit.counted)} ${ofParent}`)
  if ((row?.count ?? 0) + added <= limit.max) return
  const owner = parent && parentId !== undefined ? displayNoun(parent.resource.singular) : 'organization'
  const nouns = `${displayNoun(resource.singular).replace(/y$/, 'ie')}s`
  throw new ApiError(
    'limit_reached',
    `This ${owner} has ${row?.count} ${nouns}, and can have at most ${limit.max}. Delete some that you no longer need.`,
  )
}
