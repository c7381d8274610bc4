import { pause } from '../background/loop.ts'

export interface RetryOptions {
  /** Aborts when retries should stop. */
  signal: AbortSignal
  /** When to stop retrying, on the clock of `performance.now()`. */
  deadline: number
  isTransient: (error: unknown) => boolean
}

const retryMilliseconds = 500

/**
 * Retries transient failures until the deadline, or once more after the abort. Returns the last error if the deadline
 * passed; throws the first non-transient error and that of the last attempt after the abort.
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
