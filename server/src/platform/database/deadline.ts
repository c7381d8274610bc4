import { DeadlineExceeded } from './failures.ts'

/** Waits for `work` until the deadline, then calls `abandon` and throws `DeadlineExceeded`. */
export async function raceDeadline<Result>(
  work: Promise<Result>,
  deadline: number,
  abandon = () => {},
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const deadlineReached = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded()), Math.max(0, deadline - performance.now()))
  })
  try {
    return await Promise.race([work, deadlineReached])
  } catch (error) {
    if (error instanceof DeadlineExceeded) {
      work.catch(() => undefined)
      abandon()
    }
    throw error
  } finally {
    clearTimeout(timer)
  }
}
