import { generateMersenne53Randomizer } from '@faker-js/faker'

/** Draws that follow from the seed alone. */
export class Random {
  /** For faker: everything is drawn from one stream. */
  readonly randomizer: ReturnType<typeof generateMersenne53Randomizer>

  constructor(seed: number) {
    this.randomizer = generateMersenne53Randomizer(seed)
  }

  /** At least 0 and less than 1. */
  next(): number {
    return this.randomizer.next()
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  isLikely(share: number): boolean {
    return this.next() < share
  }

  one<Value>(values: readonly Value[]): Value {
    return at(values, this.below(values.length))
  }

  /** One of them, the first ones far more often than the last. */
  common<Value>(values: readonly Value[]): Value {
    return at(values, Math.floor(this.next() ** 2 * values.length))
  }

  digits(count: number): string {
    return String(this.below(10 ** count)).padStart(count, '0')
  }
}

export function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index]
  if (value === undefined) throw new Error(`There is nothing at ${index}.`)
  return value
}
