import { setTimeout as delay } from 'node:timers/promises'

export interface LoopOptions {
  /** Resolves once the loop may begin; when it rejects, the loop does nothing. */
  ready: Promise<unknown>
  /** Resolves to the milliseconds until the next run, or until `wake`. `signal` aborts when the loop is closed. */
  run: (signal: AbortSignal) => Promise<number>
  /** Called with the error of a failed run. */
  onError: (error: unknown) => void
  /** Milliseconds after a failed run, which `wake` does not shorten. */
  retryMilliseconds: number
}

export interface Loop {
  /** There may be something to do: runs at once. */
  wake(): void
  /** Starts no further run and waits for the current one. */
  close(): Promise<void>
}

/** Runs something again and again in the background. */
export function startLoop({ ready, run, onError, retryMilliseconds }: LoopOptions): Loop {
  const closing = new AbortController()
  let waiting = new AbortController()
  const repeat = async () => {
    while (!closing.signal.aborted) {
      // Before the run, so that it misses no wake.
      waiting = new AbortController()
      try {
        const milliseconds = await run(closing.signal)
        if (milliseconds > 0) await pause(milliseconds, waiting.signal)
      } catch (error) {
        onError(error)
        await pause(retryMilliseconds, closing.signal)
      }
    }
  }
  const running = ready.then(repeat, () => undefined)
  return {
    wake: () => waiting.abort(),
    close: async () => {
      closing.abort()
      waiting.abort()
      await running
    },
  }
}

/** Waits so many milliseconds, or until the signal aborts. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  delay(milliseconds, undefined, { signal }).catch(() => undefined)

/** A quarter more or less, so that several processes do not run at the same time. */
export const withJitter = (milliseconds: number): number => milliseconds * (0.75 + Math.random() / 2)
