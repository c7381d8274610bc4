const cleanups: (() => Promise<void>)[] = []

/**
 * Registers a cleanup. Call it right after creating the thing to remove, because an interruption can come at any time.
 * Returns a function that runs the cleanup earlier.
 */
export function addCleanup(undo: () => Promise<void>): () => Promise<void> {
  cleanups.push(undo)
  return async () => {
    const index = cleanups.lastIndexOf(undo)
    if (index < 0) return
    cleanups.splice(index, 1)
    await undo()
  }
}

/** Runs the remaining cleanups, the latest first. */
export async function cleanUp(): Promise<void> {
  for (let undo = cleanups.pop(); undo; undo = cleanups.pop())
    await undo().catch((error: unknown) => console.error(error))
}
