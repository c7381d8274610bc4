import type { Database } from '../../database/database.ts'
import { pause } from '../../background/loop.ts'
import { isOutage } from '../../database/failures.ts'
import type { Resource } from '../declare/define.ts'
import { findUnfinishedIndexes, takeIndexStep } from './index-builds-store.ts'

export interface IndexingOptions {
  database: Database
  /** The resources whose custom properties can be indexed. */
  definable: readonly Resource[]
  onError: (error: unknown) => void
}

/** Records per step: a change of one of them waits for about 50 milliseconds. */
const batchSize = 500
/** After each step, pause for this multiple of its duration. */
const pauseRatio = 1

/**
 * Completes the indexes of properties and removes the entries of dropped ones, in small steps. Processes share the work;
 * what one leaves off, another continues. Resolves to whether all succeeded.
 */
export async function maintainIndexes(
  { database, definable, onError }: IndexingOptions,
  signal: AbortSignal,
  limit = batchSize,
): Promise<boolean> {
  let succeeded = true
  for (const index of await findUnfinishedIndexes(database)) {
    try {
      for (let step = 'continues'; step === 'continues' && !signal.aborted;) {
        const began = performance.now()
        step = await takeIndexStep(database, definable, index, limit)
        await pause(pauseRatio * (performance.now() - began), signal)
      }
    } catch (error) {
      if (isOutage(error)) throw error
      succeeded = false
      onError(error)
    }
  }
  return succeeded
}
