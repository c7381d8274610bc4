import type { Template } from './template.ts'

/** Context of a scenario. */
export interface Run {
  /** The project's folder. */
  root: string
  /** Returns a number from 0 to below 1; a seed always gives the same sequence. */
  random: () => number
  /** Maximum milliseconds that a writer pauses after each acknowledged write. */
  maxPause: number
  /** Milliseconds that a writer pauses after any other response. */
  pauseAfterFailure: number
  /** Initial data of services and databases; without it, each is created empty. */
  template?: Template
  log: (line: string) => void
}

export interface ScenarioResult {
  /** In display order. */
  figures: Record<string, number | string>
  /** Broken guarantees, each with the observed value. */
  broken: string[]
  /** Why the scenario was skipped. */
  skipped?: string
}

/** Collects broken guarantees, so that one does not hide the others. */
export class Guarantees {
  readonly broken: string[] = []

  /** `actual` is reported if the guarantee is broken. */
  check(guarantee: string, isMet: boolean, actual: unknown = ''): void {
    if (!isMet) this.broken.push(actual === '' ? guarantee : `${guarantee}: ${formatted(actual)}`)
  }

  /** Checks that there are no exceptions. */
  checkNone(guarantee: string, exceptions: readonly unknown[]): void {
    this.check(guarantee, exceptions.length === 0, { count: exceptions.length, first: exceptions.slice(0, 3) })
  }
}

/** Concurrent requests of `forEachConcurrently`. */
const concurrency = 8

/** Runs the action for each item, several at a time. Errors: the first one. */
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

/** A pseudorandom generator (mulberry32 by Tommy Ettinger). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export function pickOne<Value>(values: readonly Value[], random: () => number): Value {
  const value = values[Math.floor(random() * values.length)]
  if (value === undefined) throw new Error('the list must not be empty')
  return value
}

export const rounded = (value: number | undefined): number => Math.round(value ?? Number.NaN)
