import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { Link } from './link.ts'
import type { PrimaryFunctions, WorkerFunctions } from './protocol.ts'

export interface WorkerHandlers {
  functions: Omit<PrimaryFunctions, 'ready' | 'accepted'>
  end(): void
}

export interface WorkersOptions {
  count: number
  /** File that a worker process runs. */
  file: string
  log: Logger
  /** Why no worker can be started now; undefined if one can. */
  restartBlocker: () => string | undefined
  createHandlers: (index: number) => WorkerHandlers
  /** A worker ended and is replaced. */
  onReplaced: () => void
}

export interface Worker {
  readonly index: number
  readonly link: Link<WorkerFunctions>
}

interface Started extends Worker {
  child: ChildProcess
  isReady: boolean
}

/** Milliseconds before an exited worker is replaced: doubled each time until a worker is stable. */
const restartDelays = { shortest: 100, longest: 5000 }
/** Milliseconds after which a worker counts as stable. */
const stableAfter = 30_000

/** The worker processes of a primary process. Exited ones are replaced. */
export class Workers {
  readonly #options: WorkersOptions
  readonly #started = new Map<number, Started>()
  readonly #restarts = new Set<NodeJS.Timeout>()
  #resolveReady: () => void = () => undefined
  /** Resolves once every worker is ready. */
  readonly allReady = new Promise<void>((resolve) => (this.#resolveReady = resolve))
  #isClosing = false
  /** Index of the worker that gets the next connection, if several have equally few pending ones. */
  #next = 0

  constructor(options: WorkersOptions) {
    this.#options = options
    for (let index = 0; index < options.count; index++) this.#start(index, restartDelays.shortest)
  }

  get all(): readonly Worker[] {
    return [...this.#started.values()]
  }

  /** Hands a connection to the worker with the fewest pending ones, in rotation. False if none is ready. */
  handOver(socket: Socket): boolean {
    const { count } = this.#options
    let chosen: Started | undefined
    for (let step = 0; step < count; step++) {
      const worker = this.#started.get((this.#next + step) % count)
      if (worker?.isReady && worker.link.pendingSockets < (chosen?.link.pendingSockets ?? Infinity)) chosen = worker
    }
    if (!chosen) return false
    this.#next = (chosen.index + 1) % count
    chosen.link.handOver(socket)
    return true
  }

  /** Lets all workers finish their requests and exit. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const restart of this.#restarts) clearTimeout(restart)
    const ends = [...this.#started.values()].map(async ({ child, link, isReady }) => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (isReady) link.send('close')
      else child.kill('SIGKILL')
      await ended
    })
    await Promise.all(ends)
  }

  /** Kills the remaining workers. */
  kill(): void {
    this.#isClosing = true
    for (const { child } of this.#started.values()) child.kill('SIGKILL')
  }

  #start(index: number, delay: number): void {
    const { file, log, restartBlocker, createHandlers } = this.#options
    const reason = restartBlocker()
    if (reason !== undefined) {
      log.error({ worker: index + 1 }, reason)
      this.#startLater(index, restartDelays.longest)
      return
    }
    const startedAt = performance.now()
    const child = fork(file, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const { functions: others, end } = createHandlers(index)
    const functions: PrimaryFunctions = {
      ...others,
      ready: () => {
        worker.isReady = true
        if (this.#areAllReady()) this.#resolveReady()
      },
      accepted: () => worker.link.accepted(),
    }
    const worker: Started = { index, child, link: new Link(child, { functions }), isReady: false }
    this.#started.set(index, worker)
    const ended = (why: object) => {
      if (this.#started.get(index) !== worker) return
      this.#started.delete(index)
      end()
      for (const socket of worker.link.end()) if (!this.handOver(socket)) socket.destroy()
      if (this.#isClosing) return
      this.#options.onReplaced()
      const wasStable = performance.now() - startedAt > stableAfter
      log.error({ worker: index + 1, pid: child.pid, ...why }, 'a process of the service ended; it is replaced')
      this.#startLater(index, wasStable ? restartDelays.shortest : delay)
    }
    child.once('error', (error) => ended({ error: error.message }))
    child.once('exit', (code, signal) => ended({ code, signal }))
  }

  #startLater(index: number, delay: number): void {
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      this.#start(index, Math.min(2 * delay, restartDelays.longest))
    }, delay)
    this.#restarts.add(restart)
  }

  #areAllReady(): boolean {
    return this.#started.size === this.#options.count && [...this.#started.values()].every(({ isReady }) => isReady)
  }
}
