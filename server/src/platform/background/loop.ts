import { setTimeout as delay } from 'node:timers/promises'

export interface LoopOptions {
  /** Resolves when the loop may start; if it rejects, the loop never runs. */
  ready: Promise<unknown>
  /** Resolves to the milliseconds until the next run (`wake` shortens them). `signal` aborts on close. */
  run: (signal: AbortSignal) => Promise<number>
  onError: (error: unknown) => void
  /** Milliseconds to wait after a failed run; `wake` does not shorten this. */
  retryMilliseconds: number
}

export interface Loop {
  /** Runs immediately, because there may be work. */
  wake(): void
  /** Starts no more runs and waits for the current one. */
  close(): Promise<void>
}

/** Runs a function repeatedly in the background. */
export function startLoop({ ready, run, onError, retryMilliseconds }: LoopOptions): Loop {
  const closing = new AbortController()
  let waiting = new AbortController()
  const repeat = async () => {
    while (!closing.signal.aborted) {
      // Set before the run, so that a wake during the run is not lost.
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

/** Wakes and closes several loops together. */
export const joinLoops = (loops: readonly Loop[]): Loop => ({
  wake: () => loops.forEach((loop) => loop.wake()),
  close: async () => void (await Promise.all(loops.map((loop) => loop.close()))),
})

/** Waits for the given milliseconds, or until the signal aborts. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  delay(milliseconds, undefined, { signal }).catch(() => undefined)

/** Adds up to 25 % in either direction, so that several processes do not run at the same time. */
export const withJitter = (milliseconds: number): number => milliseconds * (0.75 + Math.random() / 2)
