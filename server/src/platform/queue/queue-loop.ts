import { type Loop, type LoopOptions, startLoop } from '../background/loop.ts'

export interface QueueLoopOptions extends Pick<LoopOptions, 'ready' | 'onError'> {
  /** Milliseconds between two checks of an empty queue: increases from the shortest to the longest without work. */
  pollIntervals: { shortest: number; longest: number }
  /** The organization (uuid) whose turn is after that of the last one; undefined if the queue is empty. */
  choose: (last: string | undefined) => Promise<string | undefined>
  /** Processes a batch; resolves to false if other processes have taken all of it. */
  work: (organizationId: string, signal: AbortSignal) => Promise<boolean>
}

/** Processes a queue of all organizations in the background, a batch of each in turn. */
export function startQueueLoop({ pollIntervals, choose, work, ...options }: QueueLoopOptions): Loop {
  let pollDelay = pollIntervals.shortest
  let last: string | undefined
  return startLoop({
    ...options,
    retryMilliseconds: pollIntervals.longest,
    run: async (signal) => {
      last = await choose(last)
      if (last === undefined) {
        const milliseconds = pollDelay
        pollDelay = Math.min(pollDelay * 2, pollIntervals.longest)
        return milliseconds
      }
      pollDelay = pollIntervals.shortest
      return (await work(last, signal)) ? 0 : pollIntervals.shortest
    },
  })
}
