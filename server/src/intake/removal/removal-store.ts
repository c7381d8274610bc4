import type { Connection, Transaction } from '../../platform/database/database.ts'
import { identifier, raw, type Sql, sql } from '../../platform/model/sql.ts'
import { countSql } from '../row-counts/store.ts'

/** A worker may be processing the other rows. */
const isRemovable = raw(`import_rows.status <> 'PROCESSING'`)

/** What a dry run looks at and what is counted, so that both take as long whatever was sent. */
export const maxCounted = 10_000

/** Whether the import (uuid) is disabled, locked until the transaction ends; undefined if it does not exist. */
export async function lockImport(transaction: Transaction, importId: string): Promise<boolean | undefined> {
  const [row] = await transaction.query<{ isDisabled: boolean }>(sql`
    select disabled_at is not null as "isDisabled" from imports
    where organization_id = ${transaction.organization} and id = ${importId}::uuid and deleted_at is null
    for no key update`)
  return row?.isDisabled
}

/** The number of rows that are left, or of contacts that the import has created; at most `maxCounted` + 1. */
export async function countLeft(db: Connection, table: 'import_rows' | 'contacts', importId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::int as count from (
      select from ${identifier(table)} record
      where record.organization_id = ${db.organization} and record.import_id = ${importId}::uuid
        ${table === 'contacts' ? raw('and record.deleted_at is null') : raw('')}
      limit ${maxCounted + 1}) counted`)
  return row?.count ?? 0
}

export interface LockedRow {
  id: string
  companyId: string | null
  /** The records that it has created, as `con_…`, `com_…` and so on. */
  created: string[]
}

/** The oldest rows that no worker is processing; they stay locked. */
export async function lockRows(transaction: Transaction, importId: string, limit: number): Promise<LockedRow[]> {
  return transaction.query<LockedRow>(sql`
    select id, company_id as "companyId", array(
      select change->>'id' from json_array_elements(changes) change where change->>'action' = 'created') as created
    from import_rows
    where organization_id = ${transaction.organization} and import_id = ${importId}::uuid and ${isRemovable}
    order by created_at, id limit ${limit} for update skip locked`)
}

export async function deleteRows(transaction: Transaction, ids: readonly string[]): Promise<void> {
  await transaction.query(sql`
    with removed as (
      delete from import_rows where organization_id = ${transaction.organization} and id = any(${ids}::uuid[])
      returning import_id, status)
    ${countSql(transaction.organization, { before: raw('removed') })}`)
}

/** What follows from notes without a person is not somebody's change. */
const byOthers = (importId: string): Sql =>
  sql`user_of.import_id is distinct from ${importId}::uuid and user_of.source <> 'analysis'`
const stays = raw('user_of.deleted_at is null')
const isWritten = raw('user_of.deleted_at is null and (user_of.import_row_id is null or user_of.revision > 1)')

/** Entries of a kind that are looked at for one record. A record with more of them is kept. */
const maxEntries = raw('100')

/**
 * Among the entries of `record` there is one with this condition. In the order of the index, so that it is used also
 * where one record has most entries of the table.
 */
const hasEntry = ({ organization }: Connection, table: string, reference: string, condition: Sql): Sql =>
  sql`exists (
    select from (
      select entry.*, row_number() over (order by entry.created_at, entry.id) as place from ${identifier(table)} entry
      where entry.organization_id = ${organization} and entry.${identifier(reference)} = record.id
      order by entry.created_at, entry.id limit ${maxEntries}) user_of
    where user_of.place = ${maxEntries} or ${condition})`

/** Somebody else has changed the contact `record` since, or something refers to it. */
function isContactUsed(db: Connection, importId: string): Sql {
  const { organization } = db
  const has = (table: string, condition: Sql) => hasEntry(db, table, 'contact_id', condition)
  const isPushedByOther = sql`user_of.deleted_at is null and exists (
    select from import_rows pushed
    where pushed.organization_id = ${organization} and pushed.id = user_of.import_row_id
      and pushed.import_id <> ${importId}::uuid)`
  // A row ends at the time of its transaction, which is also that of the jobs that it has created.
  const isAddedJob = sql`user_of.deleted_at is null and user_of.created_at <> record.created_at and not exists (
    select from (
      select pushed.contact_id, pushed.import_id from import_rows pushed
      where pushed.organization_id = ${organization} and pushed.finished_at = user_of.created_at offset 0) pushed
    where pushed.contact_id = record.id and pushed.import_id = ${importId}::uuid)`
  return sql`(${hasEntry(db, 'record_changes', 'record_id', byOthers(importId))} or ${has('tasks', stays)}
    or exists (select from deal_contacts user_of
      where user_of.organization_id = ${organization} and user_of.contact_id = record.id offset 0)
    or exists (select from contact_edited_values user_of
      where user_of.organization_id = ${organization} and user_of.contact_id = record.id
        and user_of.field = 'employments' offset 0)
    or ${has('notes', sql`${isWritten} or ${isPushedByOther}`)} or ${has('employments', isAddedJob)})`
}

/** The same of a company. Its contacts do not count, nor do their jobs. */
function isCompanyUsed(db: Connection, importId: string): Sql {
  const has = (table: string, condition: Sql) => hasEntry(db, table, 'company_id', condition)
  const isOfOther = sql`user_of.deleted_at is null and exists (
    select from contacts worker
    where worker.organization_id = ${db.organization} and worker.id = user_of.contact_id and worker.deleted_at is null
      and worker.import_id is distinct from ${importId}::uuid)`
  return sql`(${hasEntry(db, 'record_changes', 'record_id', byOthers(importId))}
    or ${has('deals', stays)} or ${has('tasks', stays)} or ${has('notes', isWritten)}
    or ${has('employments', isOfOther)})`
}

export interface CreatedContact {
  id: string
  companyId: string | null
  isUsed: boolean
}

/** The contacts that the import has created among these (uuids). */
export async function findContacts(
  db: Connection,
  importId: string,
  ids: readonly string[],
): Promise<CreatedContact[]> {
  return db.query<CreatedContact>(sql`
    select record.id, record.company_id as "companyId", ${isContactUsed(db, importId)} as "isUsed" from contacts record
    where record.organization_id = ${db.organization} and record.id = any(${ids}::uuid[]) and record.deleted_at is null
      and record.import_id = ${importId}::uuid
    order by record.id`)
}

/** The contacts that the import has created, the oldest first, after this one (uuid). Contacts name their import. */
export async function findContactsAfter(
  db: Connection,
  importId: string,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<CreatedContact[]> {
  const isAfter =
    after === undefined
      ? raw('')
      : sql`and (created_at, id) > (
          coalesce((select created_at from contacts
            where organization_id = ${db.organization} and id = ${after}::uuid), '-infinity'), ${after}::uuid)`
  return db.query<CreatedContact>(sql`
    select record.id, record.company_id as "companyId", ${isContactUsed(db, importId)} as "isUsed" from (
      select id, company_id, created_at from contacts
      where organization_id = ${db.organization} and import_id = ${importId}::uuid and deleted_at is null ${isAfter}
      order by created_at, id limit ${limit}) record
    order by record.created_at, record.id`)
}

/**
 * The companies (uuids) that can be deleted: of `created`, and of `named` those that the history says the import has
 * created. A company goes with the last of its contacts.
 */
export async function findUnusedCompanies(
  db: Connection,
  importId: string,
  { created, named }: { created: readonly string[]; named: readonly string[] },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select record.id from companies record
    where record.organization_id = ${db.organization} and record.id = any(${[...created, ...named]}::uuid[])
      and record.deleted_at is null
      -- In this order: most companies still have contacts, and some have a long history.
      and case
        when exists (select from contacts contact where contact.organization_id = ${db.organization}
          and contact.company_id = record.id and contact.deleted_at is null) then false
        when record.id = any(${created}::uuid[]) or (
          select first.kind = 'created' and first.import_id = ${importId}::uuid from record_changes first
          where first.organization_id = ${db.organization} and first.record_id = record.id
          order by first.created_at, first.id limit 1) then not ${isCompanyUsed(db, importId)}
        else false end
    order by record.id`)
  return rows.map(({ id }) => id)
}

/** Notes that nobody has changed, without those that go with their contacts. */
const removableNotes = (db: Connection, importId: string): Sql =>
  sql`note.deleted_at is null and note.revision = 1 and not exists (
    select from contacts record
    where record.organization_id = ${db.organization} and record.id = note.contact_id
      and (record.deleted_at is not null
        or record.import_id = ${importId}::uuid and not ${isContactUsed(db, importId)}))`

/** Which of these notes (uuids), which the import has created, can be deleted. */
export async function findNotes(db: Connection, importId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select note.id from notes note
    where note.organization_id = ${db.organization} and note.id = any(${ids}::uuid[]) and ${removableNotes(db, importId)}`)
  return rows.map(({ id }) => id)
}

/** The records of a kind (uuids) that the oldest rows have created. */
const createdIds = (db: Connection, importId: string, object: 'company' | 'note'): Sql =>
  sql`select substr(change->>'id', 5)::uuid from (
      select changes from import_rows
      where organization_id = ${db.organization} and import_id = ${importId}::uuid
      order by created_at, id limit ${maxCounted}) counted
    cross join json_array_elements(changes) change
    where change->>'action' = 'created' and change->>'object' = ${object}`

export async function countNotes(db: Connection, importId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::int as count from notes note
    where note.organization_id = ${db.organization} and note.id = any(array(${createdIds(db, importId, 'note')}))
      and ${removableNotes(db, importId)}`)
  return row?.count ?? 0
}

/** Contacts of a company that a dry run looks at. */
const maxContacts = raw('100')

/** How many companies the import has created, and how many stay. `busy`: companies (uuids) of contacts that stay. */
export async function countCompanies(
  db: Connection,
  importId: string,
  busy: readonly string[],
): Promise<{ all: number; kept: number }> {
  const [row] = await db.query<{ all: number; kept: number }>(sql`
    select count(*)::int as all, (count(*) filter (where record.id = any(${busy}::uuid[])
      or ${isCompanyUsed(db, importId)}
      or exists (select from (
          select contact.import_id from contacts contact
          where contact.organization_id = ${db.organization} and contact.company_id = record.id
            and contact.deleted_at is null limit ${maxContacts}) contact
        where contact.import_id is distinct from ${importId}::uuid)))::int as kept
    from companies record
    where record.organization_id = ${db.organization} and record.deleted_at is null
      and record.id = any(array(${createdIds(db, importId, 'company')}))`)
  return row ?? { all: 0, kept: 0 }
}
