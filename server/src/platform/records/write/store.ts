import type { Transaction } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import { type WriteOptions, writeSet } from './write.ts'
import type { Change, WriteSteps, WrittenRecord } from '../declare/changes.ts'

/** What the standard routes need from a resource's store: its write, with the resource's own rules. */
export interface StandardStore {
  resource: Resource
  write(
    transaction: Transaction,
    changes: readonly Change[],
    options?: Omit<WriteOptions, 'steps'>,
  ): Promise<WrittenRecord[]>
}

/** The store of a resource that needs little beyond its declaration; `steps`, or those that it makes of each write, add the rest. */
export const standardStore = (resource: Resource, steps: WriteSteps | (() => WriteSteps) = {}): StandardStore => ({
  resource,
  write: (transaction, changes, options) =>
    writeSet(transaction, resource, changes, { ...options, steps: typeof steps === 'function' ? steps() : steps }),
})

/** Writes one change and returns the record. */
export async function writeOne(
  store: StandardStore,
  transaction: Transaction,
  change: Change,
  options?: Omit<WriteOptions, 'steps'>,
): Promise<WrittenRecord> {
  const [written] = await store.write(transaction, [change], options)
  if (!written) throw new Error('a set of one change must return one record')
  return written
}
