/** Few, because what else arrives waits for all of them. */
const maxStarts = 2
const manyTasks = 64

interface Task {
  since: number
  start: () => void
}

/** Starts a few tasks in each iteration of the event loop, those of the tenants in turn; immediately while there are few. */
export class FairStarts {
  readonly #waiting = new Map<string, Task[]>()
  #started = 0

  add(tenantKey: string, start: () => void): void {
    if (this.#started === 0) setImmediate(() => this.#startNext())
    if (this.#started < maxStarts && this.#waiting.size === 0) {
      this.#started++
      start()
      return
    }
    const tasks = this.#waiting.get(tenantKey) ?? []
    tasks.push({ since: performance.now(), start })
    this.#waiting.set(tenantKey, tasks)
  }

  /** In milliseconds; 0 while few of the tenant's tasks wait, which may only be waiting for this process. */
  longestWait(tenantKey: string): number {
    const tasks = this.#waiting.get(tenantKey) ?? []
    const [first] = tasks
    return first && tasks.length >= manyTasks ? performance.now() - first.since : 0
  }

  #startNext(): void {
    this.#started = 0
    while (this.#started < maxStarts) {
      const next = this.#waiting.entries().next().value
      if (!next) break
      const [tenantKey, tasks] = next
      const task = tasks.shift()
      this.#waiting.delete(tenantKey)
      if (tasks.length > 0) this.#waiting.set(tenantKey, tasks)
      this.#started++
      task?.start()
    }
    if (this.#started > 0) setImmediate(() => this.#startNext())
  }
}
