import type { Logger } from 'pino'
import { errorForLog } from '../background/error-for-log.ts'
import { joinLoops, type Loop } from '../background/loop.ts'
import type { Database } from '../database/database.ts'
import { nextOrganization, type Queue } from './queue.ts'
import { type QueueLoopOptions, startQueueLoop } from './queue-loop.ts'
import type { Wakeups } from './wakeups.ts'

export interface QueueWorkersOptions extends Pick<QueueLoopOptions, 'ready' | 'pollIntervals' | 'work'> {
  database: Database
  log: Logger
  wakeups: Wakeups
  /** Number of organizations worked on at a time; 0 leaves the items to other processes. */
  workers: number
  /** Errors after which the workers only wait. */
  isTransient: (error: unknown) => boolean
}

/** Works on the queue until it is closed, a batch of each organization in turn. Several processes share the work. */
export function startQueueWorkers(
  queue: Queue,
  { database, log, wakeups, workers, isTransient, work, ...options }: QueueWorkersOptions,
): Loop {
  const onError = (error: unknown) => {
    if (!isTransient(error)) log.error(errorForLog(error), `${queue.kind}: reading the queue failed`)
  }
  const startWorker = () =>
    startQueueLoop({
      ...options,
      onError,
      ...wakeups.queue({
        kind: queue.kind,
        onError,
        choose: (last) => nextOrganization(queue, database, last),
        secondsUntilDue: (organizationId) => queue.secondsUntilDue(database, organizationId),
        work,
      }),
    })
  return joinLoops(Array.from({ length: workers }, startWorker))
}
