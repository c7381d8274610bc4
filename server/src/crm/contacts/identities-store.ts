import type { Transaction } from '../../platform/database/database.ts'
import { violatesConstraint } from '../../platform/database/failures.ts'
import { decodeId, newId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { isOneOf, prepared, preparedForOne, raw, sql } from '../../platform/model/sql.ts'
import { organizationOf } from '../../platform/records/filter/scope.ts'
import { UniqueConflict } from '../../platform/records/write/unique-conflict.ts'
import { contacts, furtherKeys } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

// The primary addresses are unique by an index of `contacts`, the further ones by the key of `contact_emails`. No index spans
// both: a change that gives a contact an address first locks the address's row of `root_contacts`, then writes, and then looks
// for the address in the other table. Rows of addresses that were ever further ones are marked, so that others need not look.

/** Does the change give the contact further addresses, or take them away? */
export function touchesFurther({ before, values, columns }: PendingChange): boolean {
  if ('emails' in columns) return true
  return before !== undefined && furtherKeys(before.emails).length > 0 && movesAddresses({ values, columns })
}

/** A change of the team or the deletion concerns all addresses of the contact. */
export const movesAddresses = ({ values, columns }: Pick<PendingChange, 'values' | 'columns'>): boolean =>
  'teamId' in values || 'deleted_at' in columns

/** The addresses that the change gives the contact, as further ones. */
export const furtherAfter = ({ before, values }: PendingChange): string[] =>
  furtherKeys(values.emails === undefined ? before?.emails : values.emails)

/** Locks and marks the rows of addresses that become further ones. */
export function markFurther(transaction: Transaction, keys: readonly string[]): void {
  const rows = [...new Set(keys)].sort().map((key) => ({ id: newId(), email_key: key }))
  if (rows.length === 0) return
  transaction.send(
    prepared(sql`
      insert into root_contacts (organization_id, id, email_key, is_further)
      select ${transaction.organization}, id, email_key, true
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as root(id uuid, email_key text) order by email_key
      on conflict (organization_id, email_key) do update set is_further = true returning id`),
  )
}

/**
 * Stores the further addresses of contacts that were written, and looks for addresses that are in both tables; of those
 * with these `primaryKeys` too. The next result can be a `UniqueConflict`.
 */
export function syncFurther(
  transaction: Transaction,
  pending: readonly PendingChange[],
  primaryKeys: readonly string[],
): void {
  const touched = pending.filter(touchesFurther)
  const ids = touched.map(({ id }) => id)
  const { organization } = transaction
  const field = touched.length > 0 ? 'emails' : 'email'
  const toConflict = (error: unknown) =>
    violatesConstraint(error, 'contact_emails_pkey')
      ? new UniqueConflict(contacts, field, holderOf(transaction, pending), { cause: error })
      : error
  const existing = touched.filter(({ before }) => before).map(({ id }) => id)
  if (existing.length > 0)
    transaction.send(
      preparedForOne(
        existing,
        sql`delete from contact_emails
        where organization_id = ${organization} and ${isOneOf(raw('contact_id'), existing, 'uuid')} returning email_key`,
      ),
    )
  if (ids.length > 0)
    transaction.send(
      preparedForOne(
        ids,
        sql`insert into contact_emails (organization_id, email_key, team_id, contact_id)
        select ${organizationOf(transaction, raw('organization_id'))}, entry.value ->> 'key', team_id, id
        from contacts, jsonb_array_elements(emails) entry
        where organization_id = ${organization} and ${isOneOf(raw('id'), ids, 'uuid')} and deleted_at is null
          and entry.value -> 'key' is not null
        -- Two sets that want the same addresses meet at the same one first.
        order by entry.value ->> 'key' returning email_key`,
      ),
      toConflict,
    )
  const keys = [...new Set([...touched.flatMap(furtherAfter), ...primaryKeys])]
  if (keys.length === 0) return
  // What is in both tables violates the key of this one.
  transaction.send(
    preparedForOne(
      keys,
      sql`insert into contact_emails (organization_id, email_key, team_id, contact_id)
        select ${organizationOf(transaction, raw('further.organization_id'))}, further.email_key, further.team_id, further.contact_id
        from contact_emails further
        join contacts contact on contact.organization_id = further.organization_id
          and contact.email_key = further.email_key and contact.team_id = further.team_id
        where further.organization_id = ${organization} and contact.organization_id = ${organization}
          and ${isOneOf(raw('further.email_key'), keys, 'text')} and contact.deleted_at is null
        returning email_key`,
    ),
    toConflict,
  )
}

/** Another contact of the same team with one of the addresses. */
function holderOf(transaction: Transaction, pending: readonly PendingChange[]) {
  const { organization } = transaction
  const wanted = pending.flatMap((change) => {
    const { email, teamId } = { ...change.before, ...change.values }
    const team = decodeId('tea', String(teamId)) ?? null
    const keys = [...(typeof email === 'string' ? [emailKey(email)] : []), ...furtherAfter(change)]
    return keys.map((key) => ({ team_id: team, email_key: key }))
  })
  const ids = pending.map(({ id }) => id)
  const isWanted = sql`exists (
    select from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as wanted(team_id uuid, email_key text)
    where wanted.email_key = held.email_key and wanted.team_id = held.team_id)`
  return sql`
    select id from contacts held where organization_id = ${organization} and deleted_at is null
      and email_key = any(${wanted.map((one) => one.email_key)}::text[]) and id <> all(${ids}::uuid[]) and ${isWanted}
    union all
    select contact_id from contact_emails held where organization_id = ${organization}
      and email_key = any(${wanted.map((one) => one.email_key)}::text[]) and contact_id <> all(${ids}::uuid[]) and ${isWanted}
    limit 1`
}
