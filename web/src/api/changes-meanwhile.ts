/**
 * Optimistic changes. A response that was requested before such a change does not contain it, so the change is applied
 * again when the response arrives.
 */
export class ChangesMeanwhile<Value> {
  #reading = 0
  #changes: ((value: Value) => Value)[] = []

  add(change: (value: Value) => Value): void {
    if (this.#reading > 0) this.#changes.push(change)
  }

  /** Fetches a value, and applies the changes that were made since the request. */
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
