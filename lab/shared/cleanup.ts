const undone: (() => Promise<void>)[] = []

/**
 * Told how to undo each thing as soon as it is done, since an interruption does not wait. Gives the function that undoes
 * it earlier.
 */
export function atEnd(undo: () => Promise<void>): () => Promise<void> {
  undone.push(undo)
  return async () => {
    const index = undone.lastIndexOf(undo)
    if (index < 0) return
    undone.splice(index, 1)
    await undo()
  }
}

/** Undoes whatever is still done, the last first. */
export async function cleanUp(): Promise<void> {
  for (let undo = undone.pop(); undo; undo = undone.pop()) await undo().catch((error: unknown) => console.error(error))
}
