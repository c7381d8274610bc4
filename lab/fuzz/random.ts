/**
 * A pseudorandom generator that depends only on a seed and a number, so that each request is reproducible on its own.
 */
export class Random {
  #state: number

  constructor(seed: number, number: number) {
    this.#state = scramble(scramble(seed) ^ Math.imul(number + 1, 0x9e37_79b9))
  }

  /** An integer from 0 to below the limit. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    return Math.floor((scramble(this.#state) / 2 ** 32) * limit)
  }

  /** True with this probability in percent. */
  chance(percent: number): boolean {
    return this.below(10_000) < percent * 100
  }

  pick<Value>(values: readonly Value[]): Value {
    if (values.length === 0) throw new Error('the list must not be empty')
    return values[this.below(values.length)] as Value
  }

  /** Up to `count` different values. */
  pickSome<Value>(values: readonly Value[], count: number): Value[] {
    return [...new Set(Array.from({ length: Math.min(count, values.length) }, () => this.pick(values)))]
  }

  /** Picks a name with a probability proportional to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name
    throw new Error('the sum of the weights must be positive')
  }
}

/** The finalizer of MurmurHash3: each input bit flips about half of the output bits. */
function scramble(input: number): number {
  let bits = input | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
