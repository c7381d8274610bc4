import { generateMersenne53Randomizer } from '@faker-js/faker'

/** Random values that depend only on the seed. */
export class Random {
  /** For faker, so that all values come from one stream. */
  readonly randomizer: ReturnType<typeof generateMersenne53Randomizer>

  constructor(seed: number) {
    this.randomizer = generateMersenne53Randomizer(seed)
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    return this.randomizer.next()
  }

  /** A whole number from 0 (inclusive) to the limit (exclusive). */
  integerBelow(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<Value>(values: readonly Value[]): Value {
    return itemAt(values, this.integerBelow(values.length))
  }

  /** One of the values; the first ones are far more frequent. */
  pickSkewed<Value>(values: readonly Value[]): Value {
    return itemAt(values, Math.floor(this.next() ** 2 * values.length))
  }

  digits(count: number): string {
    return String(this.integerBelow(10 ** count)).padStart(count, '0')
  }
}

export function itemAt<Value>(values: readonly Value[], index: number): Value {
  const value = values[index]
  if (value === undefined) throw new Error(`There is nothing at ${index}.`)
  return value
}
