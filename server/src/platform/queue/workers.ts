import type { Logger } from 'pino'
import { errorForLog } from '../background/error-for-log.ts'
import { joinLoops, type Loop, type LoopOptions, startLoop } from '../background/loop.ts'
import type { Queue } from './queue.ts'
import type { Wakeups, Work } from './wakeups.ts'

/** Wakeups do not shorten the pause after an error, so it is short. */
const maxRetryMilliseconds = 1000

export interface QueueWorkersOptions extends Pick<LoopOptions, 'ready'> {
  log: Logger
  wakeups: Wakeups
  /** Number of organizations worked on at a time; 0 leaves the items to other processes. */
  workers: number
  /** Milliseconds between two checks of an empty queue: increases from the shortest to the longest without work. */
  pollIntervals: { shortest: number; longest: number }
  /** Errors after which the workers only wait. */
  isTransient: (error: unknown) => boolean
  work: Work
}

/** Works on the queue until it is closed, a batch of each organization in turn. Several processes share the work. */
export const startQueueWorkers = (queue: Queue, options: QueueWorkersOptions): Loop =>
  joinLoops(Array.from({ length: options.workers }, () => startWorker(queue, options)))

function startWorker(
  queue: Queue,
  { ready, log, wakeups, pollIntervals, isTransient, work }: QueueWorkersOptions,
): Loop {
  const onError = (error: unknown) => {
    if (!isTransient(error)) log.error(errorForLog(error), `${queue.kind}: reading the queue failed`)
  }
  const turns = wakeups.turns(queue, { work, onError })
  let pollDelay = pollIntervals.shortest
  let last: string | undefined
  return startLoop({
    ready,
    onError,
    retryMilliseconds: Math.min(pollIntervals.longest, maxRetryMilliseconds),
    run: async (signal) => {
      last = await turns.choose(last)
      if (last === undefined) {
        const milliseconds = pollDelay
        pollDelay = Math.min(pollDelay * 2, pollIntervals.longest)
        return milliseconds
      }
      pollDelay = pollIntervals.shortest
      return (await turns.work(last, signal)) ? 0 : pollIntervals.shortest
    },
  })
}
