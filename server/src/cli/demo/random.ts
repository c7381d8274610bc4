/** Random values that depend only on the seed: the generator sfc32 of PractRand (C. Doty-Humphrey, public domain). */
export class Random {
  readonly #state: Int32Array

  constructor(seed: number) {
    this.#state = Int32Array.of(seed, seed / 2 ** 32, 0x9e3779b9, 1)
    for (let round = 0; round < 15; round++) this.#nextInteger()
  }

  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    return ((this.#nextInteger() >>> 5) * 2 ** 26 + (this.#nextInteger() >>> 6)) / 2 ** 53
  }

  #nextInteger(): number {
    const [a = 0, b = 0, c = 0, counter = 0] = this.#state
    const result = (a + b + counter) | 0
    this.#state.set([b ^ (b >>> 9), (c + (c << 3)) | 0, ((c << 21) | (c >>> 11)) + result, counter + 1])
    return result
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
