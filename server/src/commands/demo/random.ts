/** Mixes the bits of a whole number; one to one, so that different numbers stay different. */
export function mixed(value: number): number {
  let bits = value | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}

/**
 * Numbers that look drawn and follow from a seed alone (mulberry32). Each thing has a stream of its own, so that what is
 * drawn for one does not shift the others.
 */
export class Random {
  readonly #seed: number
  #state = 0

  constructor(seed: number) {
    this.#seed = mixed(seed)
  }

  /** Begins the stream of the thing of this kind and number. */
  of(kind: number, index: number): this {
    this.#state = mixed(this.#seed ^ Math.imul(kind + 1, 0x9e3779b1)) ^ mixed(index + 0x51ed270b)
    return this
  }

  /** At least 0 and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
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
    let text = ''
    while (text.length < count) text += String(this.below(10))
    return text
  }
}

/** The value at a place that exists, counted in a circle. */
export function at<Value>(values: readonly Value[], index: number): Value {
  const value = values[index % values.length]
  if (value === undefined) throw new Error('There is nothing to choose from.')
  return value
}
