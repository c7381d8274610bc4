import type { Bell } from './bell.ts'

export interface Patience {
  bell: Bell
  /** When it is no use any more, as `performance.now()` tells the time. */
  end: number
  isPassing: (error: unknown) => boolean
}

/** Milliseconds between two attempts. */
const pause = 500

/**
 * Writes something down, again and again while what hinders it passes by itself; once more at most when all is over.
 * Undefined when it was kept, the last error when the end came first. Errors: the last one, before the end.
 */
export async function untilKept(
  { bell, end, isPassing }: Patience,
  keep: () => Promise<void>,
): Promise<{ unkept: unknown } | undefined> {
  for (;;) {
    try {
      await keep()
      return undefined
    } catch (error) {
      if (!isPassing(error) || bell.isClosed) throw error
      await bell.rest(pause)
      if (performance.now() >= end) return { unkept: error }
    }
  }
}
