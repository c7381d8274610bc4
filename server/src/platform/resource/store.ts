import type { Transaction } from '../database/database.ts'
import type { Resource } from '../model/define.ts'
import { type Change, type WriteOptions, writeSet, type WriteSteps, type WrittenRecord } from './write.ts'

/** What the standard routes need of a resource's store: its one write, with the rules that it adds. */
export interface StandardStore {
  resource: Resource
  write(
    transaction: Transaction,
    changes: readonly Change[],
    options?: Omit<WriteOptions, 'steps'>,
  ): Promise<WrittenRecord[]>
}

/** The store of a resource whose declaration says everything, or nearly: `steps` is what it adds. */
export const standardStore = (resource: Resource, steps?: WriteSteps): StandardStore => ({
  resource,
  write: (transaction, changes, options) =>
    writeSet(transaction, resource, changes, { ...options, ...(steps && { steps }) }),
})

/** Writes a set of one change, and gives what it wrote. */
export async function writeOne(
  store: StandardStore,
  transaction: Transaction,
  change: Change,
  options?: Omit<WriteOptions, 'steps'>,
): Promise<WrittenRecord> {
  const [written] = await store.write(transaction, [change], options)
  if (!written) throw new Error('a set of one change gives one record')
  return written
}
