import { pause } from './loop.ts'

export interface RetryOptions {
  /** Aborts when no more is to be retried. */
  signal: AbortSignal
  /** When retrying is of no use any more, on the clock of `performance.now()`. */
  deadline: number
  isTransient: (error: unknown) => boolean
}

const retryMilliseconds = 500

/**
 * Writes something, and retries transient failures until the end; after the abort once more at most. Undefined when it
 * worked, the last error when the end came first. Errors: the first one that is not transient, and the one of the last try
 * after the abort.
 */
export async function retryTransient(
  { signal, deadline, isTransient }: RetryOptions,
  operation: () => Promise<void>,
): Promise<{ lastError: unknown } | undefined> {
  for (;;) {
    try {
      await operation()
      return undefined
    } catch (error) {
      if (!isTransient(error) || signal.aborted) throw error
      await pause(retryMilliseconds, signal)
      if (performance.now() >= deadline) return { lastError: error }
    }
  }
}
