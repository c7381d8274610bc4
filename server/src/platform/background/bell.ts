/** Lets those who sleep be woken early, one and all. */
export class Bell {
  isClosed = false
  readonly #sleepers = new Map<() => void, { light: boolean }>()

  ring(): void {
    for (const [wake, { light }] of this.#sleepers) if (light || this.isClosed) wake()
  }

  close(): void {
    this.isClosed = true
    this.ring()
  }

  /** Resolves after so many milliseconds, or at the next ring. */
  sleep(milliseconds: number): Promise<void> {
    return this.#sleep(milliseconds, { light: true })
  }

  /** Resolves after so many milliseconds, or when all is over. */
  rest(milliseconds: number): Promise<void> {
    return this.#sleep(milliseconds, { light: false })
  }

  async #sleep(milliseconds: number, how: { light: boolean }): Promise<void> {
    if (this.isClosed) return
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        this.#sleepers.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, milliseconds)
      this.#sleepers.set(wake, how)
    })
  }
}
