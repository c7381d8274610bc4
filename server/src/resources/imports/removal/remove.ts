import type { Transaction } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/model/errors.ts'
import { notFound } from '../../../platform/resource/read.ts'
import { companyStore } from '../../companies/store.ts'
import { contactStore } from '../../contacts/store.ts'
import { allNoteStore } from '../../notes/store.ts'
import { imports } from '../resource.ts'
import { assertMayPush } from '../store.ts'
import {
  countCreated,
  countNotes,
  countRows,
  type CreatedKind,
  deleteRows,
  findNotes,
  findUnused,
  lockImport,
  lockRows,
} from './removal-store.ts'

/** What one step has removed or, for a dry run, what all steps would remove. */
export interface Removal {
  rows: number
  contacts: number
  companies: number
  notes: number
  /** Contacts and companies that stay, because somebody else has changed them or something refers to them. */
  kept: number
  /** Rows left for the next step. */
  remaining: number
}

/** Records and rows of one step, so that it stays within the statement timeout. */
const maxRemoved = 200

/** Counts what `removeReceived` would remove. Errors: 403, 404. */
export async function countReceived(transaction: Transaction, importId: string): Promise<Removal> {
  await assertMayRemove(transaction, importId)
  const contacts = await countCreated(transaction, 'contacts', importId)
  const companies = await countCreated(transaction, 'companies', importId)
  return {
    rows: await countRows(transaction, importId),
    contacts: contacts.all - contacts.kept,
    companies: companies.all - companies.kept,
    notes: await countNotes(transaction, importId),
    kept: contacts.kept + companies.kept,
    remaining: 0,
  }
}

/**
 * Removes what a disabled import (uuid) has received: deletes the contacts, companies and notes that it has created, as a
 * person deletes records, and then its rows for good. One step of several: repeat it until nothing remains. What it has
 * changed in other records stays. Errors: 403, 404, 423 while the import is enabled.
 */
export async function removeReceived(transaction: Transaction, importId: string): Promise<Removal> {
  const isDisabled = await assertMayRemove(transaction, importId)
  if (!isDisabled)
    throw new ApiError('resource_locked', 'Disable the import first, so that no more is received meanwhile.')
  const contacts = await findUnused(transaction, 'contacts', { importId, limit: maxRemoved })
  await remove(transaction, 'contacts', contacts)
  const isFull = contacts.length === maxRemoved
  const rowIds = isFull ? [] : await lockRows(transaction, importId, maxRemoved)
  const ofRows = { importId, rowIds, limit: maxRemoved }
  // Before the companies, to which they may refer.
  const notes = rowIds.length === 0 ? [] : await findNotes(transaction, importId, rowIds)
  await remove(transaction, 'notes', notes)
  const companies = rowIds.length === 0 ? [] : await findUnused(transaction, 'companies', ofRows)
  await remove(transaction, 'companies', companies)
  if (rowIds.length > 0) await deleteRows(transaction, rowIds)
  const kept = (await countCreated(transaction, 'contacts', importId)).kept
  const remaining = Math.max(await countRows(transaction, importId), isFull ? 1 : 0)
  const counts = { contacts: contacts.length, companies: companies.length, notes: notes.length }
  return { rows: rowIds.length, ...counts, kept, remaining }
}

async function assertMayRemove(transaction: Transaction, importId: string): Promise<boolean> {
  assertMayPush(transaction)
  const isDisabled = await lockImport(transaction, importId)
  if (isDisabled === undefined) throw notFound(imports)
  return isDisabled
}

const stores = { contacts: contactStore, companies: companyStore, notes: allNoteStore }

async function remove(transaction: Transaction, kind: CreatedKind | 'notes', ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const changes = ids.map((id) => ({
    kind: 'update' as const,
    id,
    values: {},
    columns: () => ({ deleted_at: 'now' }),
  }))
  await stores[kind].write(transaction, changes)
}
