import { suggestions } from '../assistant/suggestions/resource.ts'
import { contacts } from '../crm/contacts/resource.ts'
import { deleteOrphanedRootContacts, leaveRootContacts } from '../crm/contacts/retention-store.ts'
import { formerHistoryOf } from '../crm/history-retention-store.ts'
import { deleteMailsAbout } from '../identity/mails/store.ts'
import { deleteEntriesAbout } from '../inbox/store.ts'
import { lockClaimsAndWork } from '../intake/work/work-store.ts'
import type { Transaction } from '../platform/database/database.ts'
import { deleteResponsesAbout } from '../platform/http/effects/idempotency-store.ts'
import { deletedRecords } from '../platform/operations/maintenance/deleted-store.ts'
import type { Dependent, Erasure, RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { deleteAnswersAbout, deleteAnswersToTests } from '../webhooks/delivery-store.ts'
import { deleteReceived, readPeople } from './personal-data-store.ts'

/** Suggestions that made the contact: they have the name and the addresses that the note of another record mentions. */
const madeBy: Dependent = {
  name: suggestions.name,
  table: suggestions.table,
  column: 'result_contact_id',
  action: 'delete',
  purged: suggestions,
}

const erasure: Erasure = {
  column: 'erased_at',
  dependents: [madeBy],
  // No worker may have read a row that is deleted.
  lock: lockClaimsAndWork,
  prepare,
  forgetRecords,
  forgetEvents: deleteAnswersAbout,
}

/** How contacts are removed for good, because their time is over or because they are erased. */
export function contactRemoval(resources: readonly Resource[]): RetentionPolicy {
  const { dependents = [], ...policy } = deletedRecords(contacts, resources)
  return {
    ...policy,
    dependents: [...dependents, ...formerHistoryOf(policy.table)],
    beforeRemoval: leaveRootContacts,
    erasure,
  }
}

/** Deletes what imports have received about these contacts. */
async function prepare(
  transaction: Transaction,
  ids: readonly string[],
  limit: number,
): Promise<(() => Promise<void>) | undefined> {
  const { roots, emailKeys } = await readPeople(transaction, ids)
  const { rowIds, hasMore } = await deleteReceived(transaction, { ids, emailKeys, limit })
  if (rowIds.length > 0) await forgetRecords(transaction, rowIds)
  if (hasMore) return undefined
  const keys = roots.map((id) => [id])
  return async () => void (await deleteOrphanedRootContacts(transaction, keys))
}

async function forgetRecords(transaction: Transaction, ids: readonly string[]): Promise<void> {
  await deleteResponsesAbout(transaction, ids)
  await deleteEntriesAbout(transaction, ids)
  await deleteAnswersToTests(transaction, ids)
  await deleteMailsAbout(transaction, ids)
}
