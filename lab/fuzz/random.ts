/** Draws that follow from a seed and a number alone: the same request for the same two, whatever was drawn before. */
export class Random {
  #state: number

  constructor(seed: number, number: number) {
    this.#state = scramble(scramble(seed) ^ Math.imul(number + 1, 0x9e37_79b9))
  }

  /** A whole number from 0 up to the limit, without it. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    return Math.floor((scramble(this.#state) / 2 ** 32) * limit)
  }

  /** True so many times of a hundred. */
  chance(percent: number): boolean {
    return this.below(10_000) < percent * 100
  }

  pick<Value>(values: readonly Value[]): Value {
    if (values.length === 0) throw new Error('there is nothing to draw from')
    return values[this.below(values.length)] as Value
  }

  /** As many different ones of the values, at most. */
  pickSome<Value>(values: readonly Value[], count: number): Value[] {
    return [...new Set(Array.from({ length: Math.min(count, values.length) }, () => this.pick(values)))]
  }

  /** One of the names, each as likely as its weight says. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name
    throw new Error('the weights come to nothing')
  }
}

/** The finisher of MurmurHash3: each bit of the input changes half of the output's. */
function scramble(input: number): number {
  let bits = input | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
