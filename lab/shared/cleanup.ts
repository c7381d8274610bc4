const cleanups: (() => Promise<void>)[] = []

/**
 * Told how to undo each thing as soon as it is done, since an interruption does not wait. Gives the function that undoes
 * it earlier.
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

/** Undoes whatever is still done, the last first. */
export async function cleanUp(): Promise<void> {
  for (let undo = cleanups.pop(); undo; undo = cleanups.pop())
    await undo().catch((error: unknown) => console.error(error))
}
