import { Worker } from 'node:worker_threads'
import type { Interpretation, Note, NoteFacts } from './analysis.ts'
import type { Rules } from './analyser.ts'
import type { RulesResult } from './rules/rules.ts'

/** What the thread is asked; it answers one call after the other. */
export type RulesCall =
  | { name: 'interpret'; values: Parameters<Rules['interpret']> }
  | { name: 'verify'; values: Parameters<Rules['verify']> }

export type RulesAnswer = { value: Interpretation | RulesResult } | { error: unknown }

export interface RulesThreadOptions {
  /** The script that the thread runs. */
  file: string
  /** Milliseconds for one call, the start of the thread included. On a busy machine, the longest note takes seconds. */
  timeout?: number
}

/** MiB: nothing that a note contains can use up the memory of the process. */
const maxMemory = 128

interface PendingCall {
  resolve(value: never): void
  reject(error: unknown): void
}

/**
 * Reads notes in a thread of its own, so that this one responds to requests meanwhile. The thread is started with the first
 * note, and replaced after one that took too long or ended it.
 */
export class RulesThread implements Rules {
  readonly #options: RulesThreadOptions
  #worker: Worker | undefined
  #pending: PendingCall | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: RulesThreadOptions) {
    this.#options = options
  }

  interpret(text: string, facts: NoteFacts): Promise<RulesResult> {
    return this.#queue({ name: 'interpret', values: [text, facts] })
  }

  verify(interpretation: Interpretation, note: Note, facts: NoteFacts): Promise<Interpretation> {
    return this.#queue({ name: 'verify', values: [interpretation, note, facts] })
  }

  /** Ends the thread. A call in progress is rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  /** One at a time, so that each has all of its time. */
  #queue<Result>(call: RulesCall): Promise<Result> {
    const result = this.#last.then(() => this.#call<Result>(call))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #call<Result>(call: RulesCall): Promise<Result> {
    const worker = (this.#worker ??= this.#start())
    const timer = setTimeout(() => void worker.terminate(), this.#options.timeout ?? 30_000)
    try {
      return await new Promise<Result>((resolve, reject) => {
        this.#pending = { resolve, reject }
        worker.postMessage(call)
      })
    } finally {
      this.#pending = undefined
      clearTimeout(timer)
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#options.file, { resourceLimits: { maxOldGenerationSizeMb: maxMemory } })
    // It must not keep a process alive that has closed everything else.
    worker.unref()
    worker.on('message', (answer: RulesAnswer) => {
      if ('error' in answer) this.#pending?.reject(answer.error)
      else this.#pending?.resolve(answer.value as never)
    })
    const end = (error: unknown) => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#pending?.reject(error)
    }
    worker.once('error', end)
    worker.once('exit', () => end(new Error('The thread that reads notes has ended.')))
    return worker
  }
}
