import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { companies } from '../../crm/companies/resource.ts'
import { companyStore } from '../../crm/companies/store.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { notes } from '../../crm/notes/resource.ts'
import { allNoteStore } from '../../crm/notes/store.ts'
import { imports } from '../imports/resource.ts'
import { assertMayPush } from '../imports/store.ts'
import {
  countCompanies,
  countLeft,
  countNotes,
  type CreatedContact,
  deleteRows,
  findContacts,
  findContactsAfter,
  findNotes,
  findUnusedCompanies,
  lockImport,
  type LockedRow,
  lockRows,
  maxCounted,
} from './removal-store.ts'

/** What one step has removed or, for a dry run, what all steps would remove. */
export interface Removal {
  rows: number
  contacts: number
  companies: number
  notes: number
  /** What stays, because somebody else has changed it or something refers to it: 0 while something remains. */
  kept: number
  /** Rows left for the next step; not 0 either while contacts are left, whose rows were purged. */
  remaining: number
  /** The contact (`con_…`) after which the next step continues with the contacts without rows. */
  next: string | null
  /** True if a dry run has counted only the first of more rows or contacts. */
  hasMore: boolean
}

/** Rows and contacts that one step removes, and contacts without rows that it looks at. */
const maxRemoved = 200
const maxExamined = 2000

/** Counts what `removeReceived` would remove of the oldest rows and contacts. Errors: 403, 404. */
export async function countReceived(transaction: Transaction, importId: string): Promise<Removal> {
  await assertMayRemove(transaction, importId)
  const found = await findContactsAfter(transaction, importId, { limit: maxCounted })
  const keptContacts = found.filter(({ isUsed }) => isUsed)
  const busy = [...new Set(keptContacts.flatMap(({ companyId }) => companyId ?? []))]
  const ofCompanies = await countCompanies(transaction, importId, busy)
  const rows = await countLeft(transaction, 'import_rows', importId)
  const all = await countLeft(transaction, 'contacts', importId)
  return {
    rows: Math.min(rows, maxCounted),
    contacts: found.length - keptContacts.length,
    companies: ofCompanies.all - ofCompanies.kept,
    notes: await countNotes(transaction, importId),
    kept: keptContacts.length + ofCompanies.kept,
    remaining: 0,
    next: null,
    hasMore: Math.max(rows, all) > maxCounted,
  }
}

/**
 * Removes what a disabled import (uuid) has received: deletes the contacts, companies and notes that its oldest rows have
 * created, as a person deletes records, and then these rows for good. After the last row, the contacts whose rows were
 * purged, from `after` on. One step of several: repeat it until nothing remains. What it has changed in other records
 * stays. Errors: 403, 404, 423 while the import is enabled.
 */
export async function removeReceived(transaction: Transaction, importId: string, after?: string): Promise<Removal> {
  const isDisabled = await assertMayRemove(transaction, importId)
  if (!isDisabled)
    throw new ApiError('resource_locked', 'Disable the import first, so that no more is received meanwhile.')
  const rows = await lockRows(transaction, importId, maxRemoved)
  const ofRows = await findContacts(transaction, importId, createdBy(rows, contacts.idPrefix))
  const unused = ofRows.filter(({ isUsed }) => !isUsed)
  await remove(transaction, contactStore, idsOf(unused))
  const isLast = rows.length < maxRemoved
  const rest = isLast
    ? await removeRest(transaction, { importId, after, limit: maxRemoved - unused.length })
    : { removed: [], next: after ?? null }
  const deleted = [...unused, ...rest.removed]
  const noteIds = await findNotes(transaction, importId, createdBy(rows, notes.idPrefix))
  await remove(transaction, allNoteStore, noteIds)
  const companyIds = await findUnusedCompanies(transaction, importId, {
    created: createdBy(rows, companies.idPrefix),
    named: [...rows, ...deleted].flatMap(({ companyId }) => companyId ?? []),
  })
  await remove(transaction, companyStore, companyIds)
  if (rows.length > 0) await deleteRows(transaction, idsOf(rows))
  const rowsLeft = Math.min(await countLeft(transaction, 'import_rows', importId), maxCounted)
  const remaining = Math.max(rowsLeft, isLast && rest.next === null ? 0 : 1)
  const stay = remaining > 0 ? 0 : await countLeft(transaction, 'contacts', importId)
  const counts = { contacts: deleted.length, companies: companyIds.length, notes: noteIds.length }
  const next = rest.next === null ? null : encodeId(contacts.idPrefix, rest.next)
  return { rows: rows.length, ...counts, kept: Math.min(stay, maxCounted), remaining, next, hasMore: false }
}

async function assertMayRemove(transaction: Transaction, importId: string): Promise<boolean> {
  assertMayPush(transaction)
  const isDisabled = await lockImport(transaction, importId)
  if (isDisabled === undefined) throw notFound(imports)
  return isDisabled
}

const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id)

/** The records with this prefix (uuids) that the rows have created. */
const createdBy = (rows: readonly LockedRow[], prefix: string): string[] => [
  ...new Set(rows.flatMap(({ created }) => created.flatMap((id) => decodeId(prefix, id) ?? []))),
]

interface Rest {
  removed: CreatedContact[]
  /** Where the next step continues; null after the last contact. */
  next: string | null
}

/** Deletes contacts that no row names any more. */
async function removeRest(
  transaction: Transaction,
  { importId, after, limit }: { importId: string; after: string | undefined; limit: number },
): Promise<Rest> {
  const page = await findContactsAfter(transaction, importId, { after, limit: maxExamined })
  const chosen = page.filter(({ isUsed }) => !isUsed).slice(0, limit)
  const isWhole = chosen.length === page.filter(({ isUsed }) => !isUsed).length
  await remove(transaction, contactStore, idsOf(chosen))
  if (isWhole) return { removed: chosen, next: page.length === maxExamined ? (page.at(-1)?.id ?? null) : null }
  return { removed: chosen, next: chosen.at(-1)?.id ?? after ?? null }
}

type Store = typeof contactStore | typeof companyStore | typeof allNoteStore

async function remove(transaction: Transaction, store: Store, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await store.write(
    transaction,
    ids.map((id) => ({ kind: 'update', id, values: {}, lifecycle: 'delete' })),
  )
}
