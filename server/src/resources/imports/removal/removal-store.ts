import type { Connection, Transaction } from '../../../platform/database/database.ts'
import { identifier, raw, type Sql, sql } from '../../../platform/model/sql.ts'
import { countItself, countSql } from '../../row-counts/store.ts'

/** A worker may be processing the other rows. */
const isRemovable = raw(`import_rows.status <> 'PROCESSING'`)

/** Whether the import (uuid) is disabled, locked until the transaction ends; undefined if it does not exist. */
export async function lockImport(transaction: Transaction, importId: string): Promise<boolean | undefined> {
  const [row] = await transaction.query<{ isDisabled: boolean }>(sql`
    select disabled_at is not null as "isDisabled" from imports
    where organization_id = ${transaction.organization} and id = ${importId}::uuid and deleted_at is null
    for no key update`)
  return row?.isDisabled
}

/** The number of rows that are left. */
export async function countRows(db: Connection, importId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    select count(*)::int as count from import_rows
    where organization_id = ${db.organization} and import_id = ${importId}::uuid`)
  return row?.count ?? 0
}

/** The oldest rows (uuids) that no worker is processing; they stay locked. */
export async function lockRows(transaction: Transaction, importId: string, limit: number): Promise<string[]> {
  const rows = await transaction.query<{ id: string }>(sql`
    select id from import_rows
    where organization_id = ${transaction.organization} and import_id = ${importId}::uuid and ${isRemovable}
    order by created_at, id limit ${limit} for update skip locked`)
  return rows.map(({ id }) => id)
}

export async function deleteRows(transaction: Transaction, ids: readonly string[]): Promise<void> {
  await countItself(transaction)
  await transaction.query(sql`
    with removed as (
      delete from import_rows where organization_id = ${transaction.organization} and id = any(${ids}::uuid[])
      returning import_id, status)
    ${countSql(transaction.organization, { before: raw('removed') })}`)
}

/** Kinds of records that an import creates. */
export type CreatedKind = 'contacts' | 'companies'

/** Somebody else has changed the contact `of` since, or something refers to it. */
function isContactUsed({ organization }: Connection, importId: string, of: 'record' | 'contact'): Sql {
  const refers = (table: string, more: Sql = raw('')) => sql`exists (select from ${identifier(table)} user_of
    where user_of.organization_id = ${organization} and user_of.contact_id = ${raw(of)}.id ${more})`
  return sql`(${refers('contact_changes', sql`and user_of.import_id is distinct from ${importId}::uuid`)}
    or ${refers('deal_contacts')} or ${refers('tasks', stays)} or ${refers('notes', isNotPushed)})`
}

/** The same of a company. Contacts that go with it do not count. */
function isCompanyUsed(db: Connection, importId: string): Sql {
  const { organization } = db
  const refers = (table: string, more: Sql) => sql`exists (select from ${identifier(table)} user_of
    where user_of.organization_id = ${organization} and user_of.company_id = record.id ${more})`
  return sql`(${refers('company_changes', sql`and user_of.import_id is distinct from ${importId}::uuid`)}
    or ${refers('deals', stays)} or ${refers('tasks', stays)} or ${refers('notes', isNotPushed)}
    or exists (select from contacts contact
      where contact.organization_id = ${organization} and contact.company_id = record.id and contact.deleted_at is null
        and (contact.import_id is distinct from ${importId}::uuid or ${isContactUsed(db, importId, 'contact')})))`
}

const stays = raw('and user_of.deleted_at is null')
const isNotPushed = raw('and user_of.deleted_at is null and user_of.import_row_id is null')

const isUsed = (db: Connection, kind: CreatedKind, importId: string): Sql =>
  kind === 'contacts' ? isContactUsed(db, importId, 'record') : isCompanyUsed(db, importId)

/** The ids of all records of a kind that rows of the import, or only these rows, have created. */
const createdIds = (db: Connection, kind: CreatedKind, importId: string, rowIds?: readonly string[]): Sql =>
  sql`select distinct substr(change->>'id', 5)::uuid from import_rows
    cross join jsonb_array_elements(import_rows.changes::jsonb) change
    where import_rows.organization_id = ${db.organization} and import_rows.import_id = ${importId}::uuid
      ${rowIds ? sql`and import_rows.id = any(${rowIds}::uuid[])` : raw('')}
      and change->>'action' = 'created' and change->>'object' = ${kind === 'contacts' ? 'contact' : 'company'}`

/** Contacts name their import, also after its rows were purged. */
const created = (db: Connection, kind: CreatedKind, importId: string, rowIds?: readonly string[]): Sql =>
  kind === 'contacts'
    ? sql`record.import_id = ${importId}::uuid`
    : sql`record.id in (${createdIds(db, kind, importId, rowIds)})`

/** The records (uuids) that can be deleted; `rowIds`: only those that these rows have created. */
export async function findUnused(
  db: Connection,
  kind: CreatedKind,
  { importId, rowIds, limit }: { importId: string; rowIds?: readonly string[]; limit: number },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select record.id from ${identifier(kind)} record
    where record.organization_id = ${db.organization} and record.deleted_at is null
      and ${created(db, kind, importId, rowIds)} and not (${isUsed(db, kind, importId)})
    order by record.id limit ${limit}`)
  return rows.map(({ id }) => id)
}

/** How many records of a kind the import has created that still exist, and how many of them are kept. */
export async function countCreated(
  db: Connection,
  kind: CreatedKind,
  importId: string,
): Promise<{ all: number; kept: number }> {
  const [row] = await db.query<{ all: number; kept: number }>(sql`
    select count(*)::int as all, (count(*) filter (where ${isUsed(db, kind, importId)}))::int as kept
    from ${identifier(kind)} record
    where record.organization_id = ${db.organization} and record.deleted_at is null and ${created(db, kind, importId)}`)
  return row ?? { all: 0, kept: 0 }
}

/** The notes of rows, without those that go with their contacts. */
const notesOf = (db: Connection, importId: string, rowIds?: readonly string[]): Sql =>
  sql`from notes where notes.organization_id = ${db.organization} and notes.deleted_at is null
    and not exists (select from contacts contact
      where contact.organization_id = ${db.organization} and contact.id = notes.contact_id
        and (contact.deleted_at is not null
          or contact.import_id = ${importId}::uuid and not ${isContactUsed(db, importId, 'contact')}))
    and notes.import_row_id in (select id from import_rows
      where import_rows.organization_id = ${db.organization} and import_rows.import_id = ${importId}::uuid
        ${rowIds ? sql`and import_rows.id = any(${rowIds}::uuid[])` : raw('')})`

/** The notes (uuids) of these rows, also on contacts that existed before. */
export async function findNotes(db: Connection, importId: string, rowIds: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`select notes.id ${notesOf(db, importId, rowIds)}`)
  return rows.map(({ id }) => id)
}

export async function countNotes(db: Connection, importId: string): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`select count(*)::int as count ${notesOf(db, importId)}`)
  return row?.count ?? 0
}
