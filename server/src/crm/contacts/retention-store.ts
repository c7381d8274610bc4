import type { Transaction } from '../../platform/database/database.ts'
import { isOneOf, preparedForOne, raw, sql } from '../../platform/model/sql.ts'
import { organizationOf } from '../../platform/records/filter/scope.ts'
import type { Key, RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'

/**
 * Root contacts that a contact left an hour ago and that no other contact uses. Until then, changing an address and
 * changing it back gives the same root contact.
 */
export const orphanedRootContacts: RetentionPolicy = {
  name: 'root_contacts',
  table: 'root_contacts_left',
  key: { id: 'uuid' },
  since: 'left_at',
  ttlSeconds: 60 * 60,
  discard: deleteOrphanedRootContacts,
}

/** Records the root contacts of these locked contacts (uuids), before they get others or are purged. */
export function leaveRootContacts(transaction: Transaction, ids: readonly string[]): void {
  if (ids.length === 0) return
  transaction.send(
    preparedForOne(
      ids,
      sql`insert into root_contacts_left (organization_id, id)
        select ${organizationOf(transaction, raw('organization_id'))}, root_contact_id from contacts
        where organization_id = ${transaction.organization} and ${isOneOf(raw('id'), ids, 'uuid')}
        union all
        select ${organizationOf(transaction, raw('root.organization_id'))}, root.id
        from contacts contact, jsonb_array_elements(contact.emails) entry, root_contacts root
        where contact.organization_id = ${transaction.organization} and ${isOneOf(raw('contact.id'), ids, 'uuid')}
          and contact.emails is not null
          and root.organization_id = ${transaction.organization} and root.email_key = entry.value ->> 'key'
        returning id`,
    ),
  )
}

export async function deleteOrphanedRootContacts(transaction: Transaction, keys: readonly Key[]): Promise<number> {
  const ids = keys.map(([id]) => id)
  const locked = await transaction.query<{ id: string }>(sql`
    select id from root_contacts where organization_id = ${transaction.organization} and id = any(${ids}::uuid[])
    order by id for update skip locked`)
  const lockedIds = locked.map(({ id }) => id)
  // A separate statement: it sees all contacts that were committed before the lock, and none can be added after it.
  const deleted = await transaction.query(sql`
    delete from root_contacts root
    where organization_id = ${transaction.organization} and id = any(${lockedIds}::uuid[]) and not exists (
      select from contacts where contacts.organization_id = ${transaction.organization}
        and contacts.root_contact_id = root.id)
      and not exists (
        select from contact_emails further where further.organization_id = ${transaction.organization}
          and further.email_key = root.email_key)
    returning id`)
  // Root contacts that are locked elsewhere are checked again later.
  await transaction.query(sql`
    delete from root_contacts_left gone
    where organization_id = ${transaction.organization} and id = any(${ids}::uuid[]) and (
      id = any(${lockedIds}::uuid[]) or not exists (
        select from root_contacts where root_contacts.organization_id = ${transaction.organization}
          and root_contacts.id = gone.id))`)
  return deleted.length
}
