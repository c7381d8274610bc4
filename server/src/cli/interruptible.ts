import { Interrupted } from '../platform/database/interrupted.ts'
import { Failure, printMessage } from './command.ts'

/**
 * Signals within this many milliseconds count as one: a terminal sends Ctrl-C to npm and to this process, and npm
 * passes it on.
 */
const repeatedSignalWindow = 1000

/**
 * Runs work that Ctrl-C and SIGTERM interrupt through its abort signal, so that it can clean up. A second, later signal
 * ends the process immediately. Error: `Failure` if the work was interrupted.
 */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const controller = new AbortController()
  let interruptedAt = 0
  const interrupt = (signal: NodeJS.Signals) => {
    if (!controller.signal.aborted) {
      interruptedAt = performance.now()
      controller.abort()
    } else if (performance.now() - interruptedAt > repeatedSignalWindow) {
      printMessage(`${signal} again: stopping immediately.`)
      process.exit(1)
    }
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, interrupt)
  try {
    return await work(controller.signal)
  } catch (error) {
    throw error instanceof Interrupted ? new Failure(error.message, { cause: error }) : error
  } finally {
    for (const signal of signals) process.off(signal, interrupt)
  }
}
