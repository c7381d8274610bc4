import { deleteRows } from '../intake/removal/removal-store.ts'
import type { Transaction } from '../platform/database/database.ts'
import { identifier, raw, type Sql, sql } from '../platform/model/sql.ts'

/** From now on the deleted contact (uuid) can be removed, and no longer be restored. */
export async function markErased({ organization, query }: Transaction, id: string, ttlSeconds: number): Promise<void> {
  await query(sql`
    update contacts set erased_at = now(), deleted_at = now() - make_interval(secs => ${ttlSeconds})
    where organization_id = ${organization} and id = ${id}::uuid`)
}

export interface People {
  /** The root contacts (uuids), of all their addresses. */
  roots: string[]
  /** All their addresses, except those that another contact has too. */
  emailKeys: string[]
}

/** Of these contacts (uuids). */
export async function readPeople({ organization, query }: Transaction, ids: readonly string[]): Promise<People> {
  const people = await query<{ root: string | null; emailKey: string | null; isAlone: boolean }>(sql`
    with address as (
      select root_contact_id as root, email_key from contacts
      where organization_id = ${organization} and id = any(${ids}::uuid[])
      union
      -- The row of an address that a deleted contact had may be gone.
      select root.id, entry.value ->> 'key'
      from contacts contact cross join jsonb_array_elements(contact.emails) entry
      left join root_contacts root
        on root.organization_id = ${organization} and root.email_key = entry.value ->> 'key'
      where contact.organization_id = ${organization} and contact.id = any(${ids}::uuid[])
        and entry.value -> 'key' is not null)
    select root, email_key as "emailKey", not exists (
        select from contacts other
        where other.organization_id = ${organization} and other.root_contact_id = address.root
          and other.id <> all(${ids}::uuid[]))
      and not exists (
        select from contact_emails other
        where other.organization_id = ${organization} and other.email_key = address.email_key
          and other.contact_id <> all(${ids}::uuid[])) as "isAlone"
    from address`)
  return {
    roots: people.flatMap(({ root }) => root ?? []),
    emailKeys: people.flatMap(({ isAlone, emailKey }) => (isAlone && emailKey !== null ? [emailKey] : [])),
  }
}

/** Deletes at most `limit` rows that imports have received about people, and as many refused pushes. */
export async function deleteReceived(
  transaction: Transaction,
  about: { ids: readonly string[]; emailKeys: readonly string[]; limit: number },
): Promise<{ rowIds: readonly string[]; hasMore: boolean }> {
  const rowIds = await findRows(transaction, about)
  if (rowIds.length > 0) await deleteRows(transaction, rowIds)
  const refused = await deleteRefused(transaction, { ...about, rowIds })
  return { rowIds, hasMore: rowIds.length === about.limit || refused === about.limit }
}

/** Of each import, in the order of its index of addresses; at most `limit`. */
const withAddress = (
  { organization }: Transaction,
  table: 'import_rows' | 'refused_pushes',
  { emailKeys, limit, condition }: { emailKeys: readonly string[]; limit: number; condition: Sql },
): Sql => sql`
  select found.id from imports cross join lateral (
    select record.id from ${identifier(table)} record
    where record.organization_id = ${organization} and record.import_id = imports.id
      and record.email_key = any(${emailKeys}::text[]) and ${condition} limit ${limit}) found
  where imports.organization_id = ${organization} limit ${limit}`

/** Rows that have made or changed these contacts, and those with their addresses that belong to nobody else. */
async function findRows(
  transaction: Transaction,
  { ids, emailKeys, limit }: { ids: readonly string[]; emailKeys: readonly string[]; limit: number },
): Promise<string[]> {
  const condition = sql`(record.contact_id is null or record.contact_id = any(${ids}::uuid[]))`
  const found = await transaction.query<{ id: string }>(sql`
    select id from (
      (select id from import_rows
        where organization_id = ${transaction.organization} and contact_id = any(${ids}::uuid[]) limit ${limit})
      union (${withAddress(transaction, 'import_rows', { emailKeys, limit, condition })})) found
    limit ${limit}`)
  return found.map(({ id }) => id)
}

/** Deletes refused pushes with these addresses, and those that were accepted as these rows; returns how many. */
async function deleteRefused(
  transaction: Transaction,
  { rowIds, emailKeys, limit }: { rowIds: readonly string[]; emailKeys: readonly string[]; limit: number },
): Promise<number> {
  const { organization, query } = transaction
  const found = withAddress(transaction, 'refused_pushes', { emailKeys, limit, condition: raw('true') })
  const deleted = await query(sql`
    delete from refused_pushes where organization_id = ${organization} and id = any(array(${found})) returning id`)
  if (rowIds.length > 0)
    await query(sql`
      delete from refused_pushes where organization_id = ${organization} and row_id = any(${rowIds}::uuid[])`)
  return deleted.length
}
