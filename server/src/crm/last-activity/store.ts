import type { Transaction } from '../../platform/database/database.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { identifier, join, type Sql, sql } from '../../platform/model/sql.ts'
import { changeAndRender } from '../../platform/records/rendering/renderings.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'

/** Queries of the ids of records with activity. */
export interface ActiveRecords {
  deals?: Sql | undefined
  /** Deals whose contacts had activity; they and their companies have been written with it, or are named themselves. */
  contactsOfDeals?: Sql | undefined
  contacts?: Sql | undefined
  companies?: Sql | undefined
}

/** A query of these ids (uuids); undefined without any. */
export const idsOf = (ids: readonly string[]): Sql | undefined =>
  ids.length === 0 ? undefined : sql`select unnest(${ids}::uuid[])`

/**
 * Sets `lastActivityAt` of these records to now, and that of the companies of the contacts, and of the contacts and
 * companies of the deals. Revision and `updatedAt` stay, so that a change that someone has begun does not conflict.
 */
export function updateLastActivity(transaction: Transaction, active: ActiveRecords): void {
  const { organization } = transaction
  const within = (table: string, ids: Sql) =>
    sql`from ${identifier(table)} where organization_id = ${organization} and id = any(array(${ids}))`
  const contactsOf = (ids: Sql) =>
    sql`select contact_id from deal_contacts
      where organization_id = ${organization} and deal_id = any(array(${ids})) and deleted_at is null`
  // Everyone locks deals before contacts before companies, and each in id order, so that nobody deadlocks.
  touch(transaction, deals, [active.deals])
  touch(transaction, contacts, [
    active.contacts,
    active.deals && contactsOf(active.deals),
    active.contactsOfDeals && contactsOf(active.contactsOfDeals),
  ])
  touch(transaction, companies, [
    active.companies,
    active.contacts && sql`select company_id ${within('contacts', active.contacts)}`,
    active.deals && sql`select company_id ${within('deals', active.deals)}`,
  ])
}

/** Written only where the value changes. */
function touch(transaction: Transaction, resource: Resource, queries: readonly (Sql | undefined)[]): void {
  const ids = queries.flatMap((query) => query ?? [])
  if (ids.length === 0) return
  const table = identifier(resource.table)
  const change = sql`
    update ${table} record set last_activity_at = now()
    from (
      select id from ${table}
      where organization_id = ${transaction.organization} and deleted_at is null
        and id = any(array(${join(ids, ' union all ')}))
      order by id for no key update) active
    where record.organization_id = ${transaction.organization} and record.id = active.id
      and (last_activity_at is null or last_activity_at < now()::timestamptz(3))`
  changeAndRender(transaction, resource, { change, ids: join(ids, ' union all ') })
}
