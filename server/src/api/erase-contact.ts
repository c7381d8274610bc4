import { contacts } from '../crm/contacts/resource.ts'
import { contactStore } from '../crm/contacts/store.ts'
import { lockClaimsAndWork, WorkLockTimeout } from '../intake/work/work-store.ts'
import type { Transaction } from '../platform/database/database.ts'
import { ApiError } from '../platform/model/errors.ts'
import { removeLocked, type RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { lockRecords } from '../platform/records/write/current.ts'
import { markErased } from './personal-data-store.ts'

/** Rows of each kind that one step handles. */
const limit = 500
/** Milliseconds after which a request leaves the rest to maintenance. */
const longest = 1500

/**
 * Erases the contact (uuid), whether it is deleted or not. From the commit on nobody finds it, and it cannot be restored.
 * Maintenance finishes what takes longer than a request should. Error: 404.
 */
export async function eraseContact(transaction: Transaction, policy: RetentionPolicy, id: string): Promise<void> {
  // Before the contact, as import workers do: no row about the person is being claimed or processed meanwhile.
  await lockImports(transaction)
  const restored = { kind: 'update', id, values: {}, lifecycle: 'restore' } as const
  const deleted = await lockRecords(transaction, contacts, [restored], undefined)
  if (deleted.size === 0) await contactStore.write(transaction, [{ ...restored, lifecycle: 'delete' }])
  await markErased(transaction, id, policy.ttlSeconds)
  const rows = { locked: [[id]], limit, isErasing: true }
  const end = performance.now() + longest
  while ((await removeLocked(transaction, policy, rows)).isPartial && performance.now() < end);
}

const lockImports = (transaction: Transaction): Promise<void> =>
  lockClaimsAndWork(transaction).catch((error: unknown) => {
    if (!(error instanceof WorkLockTimeout)) throw error
    throw new ApiError('overloaded', 'An import is being processed. Try again later.', {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  })
