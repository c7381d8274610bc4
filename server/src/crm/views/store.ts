import type { Connection, Transaction } from '../../platform/database/database.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { ApiError, type BodyError, invalidBody } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { identifier, raw, sql } from '../../platform/model/sql.ts'
import { withinScope } from '../../platform/records/page/page.ts'
import type { Relations } from '../../platform/records/declare/relations.ts'
import { root } from '../../platform/records/filter/target.ts'
import type { SavedView, SavedViews } from '../../platform/records/page/view.ts'
import { withDefinitions } from '../../platform/records/properties/resources.ts'
import { scopeOf } from '../../platform/records/page/read.ts'
import { type StandardStore, standardStore } from '../../platform/records/write/store.ts'
import { errorsOfView } from './check.ts'
import { viewable, views } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

export const viewStore = (relations: Relations): StandardStore =>
  standardStore(views, {
    async beforeWrite(transaction, pending) {
      const errors: BodyError[] = []
      for (const change of pending) {
        const text = JSON.stringify(change.values)
        const readable = await withDefinitions(transaction, { resource: resourceOf(change), relations }, text)
        errors.push(...errorsOfView(readable, change.values))
      }
      if (errors.length > 0) throw invalidBody(errors)
      await assertOwnLimit(transaction, pending)
      await assignOwner(
        transaction,
        pending.filter(({ before }) => before === undefined),
      )
    },
  })

function resourceOf({ before, values }: PendingChange): Resource {
  const name = String(values.resource ?? before?.resource)
  const found = viewable.find((resource) => resource.name === name)
  if (!found) throw new Error(`${name} have no views`)
  return found
}

/** Views of one person: nobody else sees and deletes personal ones, so that they must not take the room of all. */
const maxOwn = 200

/** Counts as `assertWithinLimit` has locked it, so that no other request adds a view meanwhile. Error: 409. */
async function assertOwnLimit({ organization, actor, query }: Transaction, pending: readonly PendingChange[]) {
  const added = pending.filter(({ before, columns }) => before === undefined || columns.deleted_at === null).length
  if (added === 0) return
  const [row] = await query<{ count: number }>(sql`
    select count(*)::integer as count from views
    where organization_id = ${organization} and owner_id = ${actor.userId}::uuid and deleted_at is null`)
  if ((row?.count ?? 0) + added <= maxOwn) return
  throw new ApiError(
    'limit_reached',
    `You have ${row?.count} views, and can have at most ${maxOwn}. Delete some that you no longer need.`,
  )
}

/** A new view belongs to the person who creates it, and comes after the other views that this person sees. */
async function assignOwner(transaction: Transaction, created: readonly PendingChange[]): Promise<void> {
  if (created.length === 0) return
  const { organization, actor } = transaction
  const [last] = await transaction.query<{ position: string }>(sql`
    select coalesce(floor(max("position")), 0)::text as position from views
    where organization_id = ${organization} and (owner_id = ${actor.userId}::uuid or is_shared) and deleted_at is null`)
  for (const [index, { values, columns }] of created.entries()) {
    columns.owner_id = actor.userId
    values.position ??= String(BigInt(last?.position ?? '0') + BigInt(index + 1))
  }
}

/** The saved views that a caller sees. */
export const savedViews: SavedViews = {
  scope: `${views.singular}:get:read`,
  async find(db: Connection, { name }: Resource, shown: string): Promise<SavedView | undefined> {
    const id = decodeId(views.idPrefix, shown)
    if (id === undefined) return undefined
    const [view] = await db.query<SavedView>(sql`
      select filter, query, order_by as "orderBy", sort from ${identifier(views.table)} ${raw(root)}
      where ${withinScope(views, scopeOf(db, undefined))} and id = ${id}::uuid and resource = ${name}`)
    return view
  },
}
