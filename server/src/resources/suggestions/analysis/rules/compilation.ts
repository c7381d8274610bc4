import { setImmediate } from 'node:timers/promises'

/** Milliseconds, after which other work goes first. */
const maxSlice = 5
/** V8 compiles a pattern again for its second text, and for texts with characters outside of Latin-1. */
const samples = ['a b', 'b c', '…']

/**
 * Makes V8 compile the patterns of these searches before they are used. For all of the rules, that takes half a second,
 * during which the process would respond to nobody.
 */
export async function compileInSlices(searches: readonly ((text: string) => unknown)[]): Promise<void> {
  let began = performance.now()
  for (const search of searches) {
    for (const sample of samples) {
      search(sample)
      if (performance.now() - began < maxSlice) continue
      await setImmediate()
      began = performance.now()
    }
  }
}
