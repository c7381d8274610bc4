import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Resource } from '../../platform/model/define.ts'
import { storeEditedValues } from '../../platform/resource/edits.ts'
import { readId } from '../../platform/model/ids.ts'
import type { StandardStore } from '../../platform/resource/store.ts'
import { type PendingChange, writeSet } from '../../platform/resource/write.ts'
import { contacts } from '../contacts/resource.ts'
import { updateLastActivity } from '../contacts/store.ts'
import { allNotes, notes } from './resource.ts'

/** The notes of one contact. */
export const noteStore = storeOf(notes)

/**
 * The notes of all contacts that are not deleted. A new one names its contact in the column `contact_id`; an imported
 * one also sets `source` and `import_row_id`.
 */
export const allNoteStore = storeOf(allNotes)

function storeOf(resource: Resource): StandardStore {
  return {
    resource,
    write: (transaction, changes, options) =>
      writeSet(transaction, resource, changes, {
        ...options,
        steps: {
          beforeWrite: (_, pending) => beforeWrite(transaction, pending, options?.parentId),
          afterWrite: (_, __, pending) => storeEditedValues(transaction, contacts, pending.flatMap(editedText)),
        },
      }),
  }
}

/** Records a text that a person changed or deleted: imports never add it again. */
function editedText({ before, values, columns }: PendingChange) {
  if (!before || !('body' in values || typeof columns.deleted_at === 'string')) return []
  return [{ id: readId(contacts.idPrefix, String(before.contactId)) ?? '', field: 'notes', value: String(before.body) }]
}

async function beforeWrite(
  transaction: Transaction,
  pending: readonly PendingChange[],
  parentId: string | undefined,
): Promise<void> {
  const created = pending.filter(({ before }) => before === undefined)
  if (created.length === 0) return
  await assignAuthor(transaction, created)
  // Before the insert of the notes, whose foreign keys would lock the contacts in the order of the notes.
  const contactIds = created.map(({ columns }) => parentId ?? String(columns.contact_id))
  await updateLastActivity(transaction, contactIds)
}

/** The author is the user of the caller, if they are a member: the creator of an API key may have left. */
async function assignAuthor(transaction: Transaction, created: readonly PendingChange[]): Promise<void> {
  const { userId } = transaction.actor
  if (userId === null) return
  const members = await transaction.query(sql`
    select from members
    where organization_id = ${transaction.organization} and user_id = ${userId}::uuid for key share`)
  if (members.length === 0) return
  for (const { columns } of created) columns.author_id = userId
}
