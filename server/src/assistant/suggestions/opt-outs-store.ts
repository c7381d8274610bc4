import type { Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { withinScope } from '../../platform/records/page/page.ts'
import { lockRecords } from '../../platform/records/write/current.ts'
import { notFound, scopeOf } from '../../platform/records/page/read.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { imports } from '../../intake/imports/resource.ts'
import { suggestions } from './resource.ts'

/** Maximum opt-outs that one request decides, and that it counts as left. */
export const maxDecided = 100
export const maxRemaining = 10_000

export interface WaitingOptOuts {
  /** The suggestions (uuids) and their contacts, locked until the transaction ends. */
  found: readonly { id: string; contactId: string }[]
  /** How many are left for the next request, at most `maxRemaining`. */
  remaining: number
}

/**
 * The opt-outs of the import (uuid) that wait because there were many, the oldest first, within the caller's reach.
 * Throws 404.
 */
export async function lockWaitingOptOuts(transaction: Transaction, importId: string): Promise<WaitingOptOuts> {
  const { organization } = transaction
  const scope = scopeOf(transaction, undefined)
  const [known, waiting] = await Promise.all([
    transaction.query(sql`
      select from imports record
      where ${withinScope(imports, scope, { deleted: false })} and record.id = ${importId}::uuid`),
    // The limit is part of the text, so that the planner knows how few are needed.
    transaction.query<{ id: string; contactId: string }>(sql`
      select record.id, record.contact_id as "contactId" from suggestions record
      join contacts on contacts.organization_id = ${organization} and contacts.id = record.contact_id
        and contacts.deleted_at is null
      where ${withinScope(suggestions, scope, { deleted: false })} and record.import_id = ${importId}::uuid
        and record.status = 'pending' and record.waiting_reason = 'many_opt_outs'
        and exists (select from notes note where note.organization_id = contacts.organization_id
          and note.id = record.note_id and note.deleted_at is null)
      order by record.created_at, record.id limit ${raw(String(maxDecided + maxRemaining))}`),
  ])
  if (known.length === 0) throw notFound(imports)
  const chosen = waiting.slice(0, maxDecided)
  // In the order of a single decision: the suggestions before their contacts.
  const locked = await lockRecords(transaction, suggestions, chosen.map(toUpdate), undefined)
  const people = chosen.map(({ contactId }) => ({ id: contactId }))
  const present = await lockRecords(transaction, contacts, people.map(toUpdate), undefined)
  // Somebody else may have decided meanwhile.
  const found = chosen.filter(
    ({ id, contactId }) => locked.get(id)?.record.status === 'pending' && present.has(contactId),
  )
  return { found, remaining: waiting.length - chosen.length }
}

const toUpdate = ({ id }: { id: string }) => ({ kind: 'update', id, values: {} }) as const
