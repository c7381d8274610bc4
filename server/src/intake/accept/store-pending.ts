import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import type { Secret } from '../../platform/secret/secret.ts'
import { addRefusalCounts, insertRefusals, type RefusedSender, updateSenders } from '../refused-pushes/store.ts'
import type { PendingBatch } from './pending-refusals.ts'

/** Stores what became of pushes, in one transaction. Returns the senders that are to be reported from now on. */
export const storePending = (
  database: Database,
  secret: Secret,
  { organizationId, refusals, counts, senders }: PendingBatch,
): Promise<RefusedSender[]> =>
  database.transaction(serviceActor('work', organizationId), async (transaction) => {
    if (refusals.length > 0) await insertRefusals(transaction, secret, refusals)
    if (counts.length > 0) await addRefusalCounts(transaction, counts)
    return updateSenders(transaction, senders)
  })
