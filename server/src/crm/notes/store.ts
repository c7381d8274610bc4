import type { Transaction } from '../../platform/database/database.ts'
import { type Resource, underParent } from '../../platform/records/declare/define.ts'
import { storeEditedValues } from '../../platform/records/write/edits.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { prepared, raw, type Sql, sql } from '../../platform/model/sql.ts'
import type { StandardStore } from '../../platform/records/write/store.ts'
import { changeEventsSql } from '../../platform/records/write/events.ts'
import { writeSet } from '../../platform/records/write/write.ts'
import { contacts } from '../contacts/resource.ts'
import { findCallerMember } from '../../identity/members/store.ts'
import { idsOf, updateLastActivity } from '../last-activity/store.ts'
import { allNotes, notes } from './resource.ts'
import type { PendingChange } from '../../platform/records/declare/changes.ts'

/** The notes on one contact, company or deal, named by this parameter of the path. */
export const noteStoreUnder = (parameter: string): StandardStore => storeOf(underParent(notes, parameter))

/**
 * The notes on all records that are not deleted. A new one names its contact in the column `contact_id`; an imported
 * one also sets `source` and `import_row_id`.
 */
export const allNoteStore = storeOf(allNotes)

function storeOf(resource: Resource): StandardStore {
  return {
    resource,
    write: (transaction, changes, options) => {
      let author: string | undefined
      return writeSet(transaction, resource, changes, {
        ...options,
        steps: {
          async readAhead() {
            if (changes.some(({ kind }) => kind === 'create')) author = await findCallerMember(transaction)
          },
          async beforeWrite(_, pending) {
            if (author === undefined) return
            for (const { before, columns } of pending) if (before === undefined) columns.author_id = author
          },
          alongWrite: (_, pending) => alongWrite(transaction, resource, pending, options?.parentId),
          followWrite: (_, pending) => storeEditedValues(transaction, contacts, pending.flatMap(editedText)),
        },
      })
    },
  }
}

/** Records a text on a contact that a person changed or deleted: imports never add it again. */
function editedText({ before, values, columns }: PendingChange) {
  const contactId = decodeId(contacts.idPrefix, String(before?.contactId))
  if (!before || contactId === undefined) return []
  const isEdited = 'body' in values || typeof columns.deleted_at === 'string'
  return isEdited ? [{ id: contactId, field: 'notes', value: String(before.body) }] : []
}

function alongWrite(
  transaction: Transaction,
  { parent }: Resource,
  pending: readonly PendingChange[],
  parentId: string | undefined,
): void {
  // Before records are locked, as when a suggestion is accepted.
  endSuggestions(transaction, pending)
  const created = pending.filter(({ before }) => before === undefined)
  const idsIn = (column: string) =>
    parent && parentId !== undefined
      ? idsOf(parent.column === column ? [parentId] : [])
      : idsOf(created.flatMap(({ columns }) => (columns[column] === undefined ? [] : String(columns[column]))))
  // Before the insert of the notes, whose foreign keys would lock the records in the order of the notes.
  updateLastActivity(transaction, {
    deals: idsIn('deal_id'),
    contacts: idsIn('contact_id'),
    companies: idsIn('company_id'),
  })
}

/** Suggestions follow from a text: they end with it. */
function endSuggestions(transaction: Transaction, pending: readonly PendingChange[]): void {
  const existing = pending.filter(({ before }) => before !== undefined)
  const deleted = existing.filter(({ columns }) => typeof columns.deleted_at === 'string').map(({ id }) => id)
  const changed = existing.filter(({ values }) => 'body' in values).map(({ id }) => id)
  if (deleted.length > 0) endOpenSuggestions(transaction, deleted, 'expired')
  if (changed.length > 0) endOpenSuggestions(transaction, changed, 'superseded')
}

/** Ends the suggestions of these notes (uuids) that nobody has decided, because their text has changed or is gone. */
export function endOpenSuggestions(
  transaction: Transaction,
  noteIds: readonly string[],
  status: 'superseded' | 'expired',
): void {
  transaction.send(
    prepared(sql`
    with ended as (
      update suggestions set status = ${status}, updated_at = now(), revision = revision + 1
      where organization_id = ${transaction.organization} and status = 'pending' and id = any(array(
        select id from suggestions
        where organization_id = ${transaction.organization} and note_id = any(${noteIds}::uuid[]) and status = 'pending'
        order by id for no key update)) returning id, revision, status, updated_at)
    ${changeEventsSql(transaction, { singular: 'suggestion' }, 'updated', endedSuggestions)} returning id`),
  )
}

/** Takes the notes that the condition selects out of the queue of texts to analyse. */
export const leaveAnalysisQueue = (transaction: Transaction, condition: Sql): Promise<object[]> =>
  transaction.query(sql`
    with finished as (
      update notes set reasoning_queued_at = null
      where organization_id = ${transaction.organization} and ${condition} returning id)
    ${changeEventsSql(transaction, { singular: 'note' }, 'updated', finishedNotes)} returning id`)

const finishedNotes = raw(
  `select id, null::integer as revision, now() as at, '[]'::jsonb as changes, '{"reasoningQueuedAt":null}' as "values"
    from finished`,
)

const endedSuggestions = raw(
  `select id, revision, updated_at as at, '[]'::jsonb as changes, json_build_object('status', status)::text as "values" from ended`,
)
