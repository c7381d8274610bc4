/**
 * What a page shows before the service has it. An answer that was requested before such a change does not have it: it
 * is changed in the same way when it arrives.
 */
export class ChangesMeanwhile<Value> {
  #reading = 0
  #changes: ((value: Value) => Value)[] = []

  add(change: (value: Value) => Value): void {
    if (this.#reading > 0) this.#changes.push(change)
  }

  /** Reads a value, and applies what was changed since it was requested. */
  async during(read: () => Promise<Value>): Promise<Value> {
    const first = this.#changes.length
    this.#reading++
    try {
      const value: Value = await read()
      return this.#changes.slice(first).reduce<Value>((changed, change) => change(changed), value)
    } finally {
      if (--this.#reading === 0) this.#changes = []
    }
  }
}
