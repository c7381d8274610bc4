import type { Template } from './template.ts'

/** What a scenario needs to know of the run. */
export interface Run {
  /** The project's folder. */
  root: string
  /** A number from 0 to below 1; of one seed always the same ones in turn. */
  random: () => number
  /** Milliseconds that a writer rests after each write, at most. */
  maxPause: number
  /** Milliseconds that a writer waits after anything but a good answer. */
  pauseAfterFailure: number
  /** What services and databases begin as; each begins from nothing where there is none. */
  template?: Template
  log: (line: string) => void
}

export interface ScenarioResult {
  /** In the order in which they are shown. */
  figures: Record<string, number | string>
  /** Promises that were not kept, each with what was seen instead. */
  broken: string[]
  /** Why nothing was done. */
  skipped?: string
}

/** Collects what was seen, so that one broken promise does not hide the others. */
export class Guarantees {
  readonly broken: string[] = []

  /** `seen` goes to the report when the law does not hold. */
  check(guarantee: string, isMet: boolean, actual: unknown = ''): void {
    if (!isMet) this.broken.push(actual === '' ? guarantee : `${guarantee}: ${formatted(actual)}`)
  }

  /** The same for a law that nothing of a kind is there. */
  checkNone(guarantee: string, exceptions: readonly unknown[]): void {
    this.check(guarantee, exceptions.length === 0, { count: exceptions.length, first: exceptions.slice(0, 3) })
  }
}

/** How many requests are under way at once where order does not matter. */
const concurrency = 8

/** Does something for each of many, several at a time. Errors: the first one. */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  action: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items.values()
  const worker = async () => {
    for (const item of remaining) await action(item)
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
}

const formatted = (actual: unknown): string => (typeof actual === 'string' ? actual : JSON.stringify(actual))

/** Numbers that follow from a seed (mulberry32, of Tommy Ettinger). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One of several. */
export function pickOne<Value>(values: readonly Value[], random: () => number): Value {
  const value = values[Math.floor(random() * values.length)]
  if (value === undefined) throw new Error('there is nothing to choose from')
  return value
}

/** The value that a share of all is not above; `undefined` of nothing. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

export const rounded = (value: number | undefined): number => Math.round(value ?? Number.NaN)
