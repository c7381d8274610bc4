import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { ApiError, type ErrorCode } from '../platform/model/errors.ts'

/** Functions that another process may call: what they take and give is sent as JSON. */
type Functions<Names> = { [Name in keyof Names]: (...values: never[]) => unknown }
type Values<F> = F extends (...values: infer V) => unknown ? V : never
type Result<F> = F extends (...values: never[]) => infer R ? Awaited<R> : never

type Refusal = { code: ErrorCode; description: string; headers: Record<string, string> } | { message: string }

/** A call (with an id where an answer is wanted), what came of one, or the error that it ended with. */
type Entry =
  | { call: string; id?: number; values: unknown[] }
  | { answer: number; value: unknown }
  | { answer: number; error: Refusal }

interface Waiting {
  resolve(value: never): void
  reject(error: unknown): void
}

/** One end of the channel between a process and one that it started: the child in the parent, `process` in the child. */
interface End {
  readonly connected: boolean
  send?: ChildProcess['send'] | undefined
  on(event: 'message', listener: (message: unknown, handle: unknown) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
}

interface LinkOptions {
  /** What the other process may call here. */
  functions: object
  /** Takes a connection that the other process accepted; undefined when its caller has left meanwhile. */
  onSocket?: (socket: Socket | undefined) => void
}

/**
 * Calls between two processes. All calls and answers of one turn of the event loop share a message: under load a message
 * carries many requests.
 */
export class Link<Theirs extends Functions<Theirs>> {
  readonly #end: End
  readonly #waiting = new Map<number, Waiting>()
  #lastId = 0
  #entries: Entry[] = []

  constructor(end: End, { functions, onSocket }: LinkOptions) {
    this.#end = end
    const ours = new Map<string, (...values: unknown[]) => unknown>(Object.entries(functions))
    end.on('message', (message: unknown, handle: unknown) => {
      if (message === 'connection') onSocket?.(handle as Socket | undefined)
      else for (const entry of message as Entry[]) this.#receive(entry, ours)
    })
    end.on('disconnect', () => {
      for (const { reject } of this.#waiting.values()) reject(unreachable())
      this.#waiting.clear()
    })
  }

  /** Calls a function over there and waits for what it gives. Errors: what it throws; 503 when that process is gone. */
  ask<Name extends keyof Theirs & string>(call: Name, ...values: Values<Theirs[Name]>): Promise<Result<Theirs[Name]>> {
    return new Promise((resolve, reject) => {
      if (!this.#end.connected) return reject(unreachable())
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#post({ call, id, values })
    })
  }

  /** Calls a function over there without waiting for it. */
  tell<Name extends keyof Theirs & string>(call: Name, ...values: Values<Theirs[Name]>): void {
    this.#post({ call, values })
  }

  /** Hands an accepted connection over, of which nothing has been read. */
  pass(socket: Socket): void {
    this.#end.send?.('connection', socket, undefined, (error) => {
      if (error) socket.destroy()
    })
  }

  #post(entry: Entry): void {
    this.#entries.push(entry)
    if (this.#entries.length > 1) return
    setImmediate(() => {
      const entries = this.#entries
      this.#entries = []
      // An end that has gone meanwhile is told by `disconnect`.
      if (this.#end.connected) this.#end.send?.(entries, undefined, undefined, () => undefined)
    })
  }

  #receive(entry: Entry, ours: ReadonlyMap<string, (...values: unknown[]) => unknown>): void {
    if ('call' in entry) void this.#perform(entry, ours.get(entry.call))
    else {
      const waiting = this.#waiting.get(entry.answer)
      this.#waiting.delete(entry.answer)
      if ('error' in entry) waiting?.reject(errorOf(entry.error))
      else waiting?.resolve(entry.value as never)
    }
  }

  async #perform(
    { call, id, values }: { call: string; id?: number; values: unknown[] },
    perform: ((...values: unknown[]) => unknown) | undefined,
  ): Promise<void> {
    try {
      if (!perform) throw new Error(`${call} is not a function of this process`)
      const given = perform(...values)
      // What needs no wait is answered in the same turn.
      const value = given instanceof Promise ? await given : given
      if (id !== undefined) this.#post({ answer: id, value })
    } catch (error) {
      if (id === undefined) throw error
      this.#post({ answer: id, error: refusalOf(error) })
    }
  }
}

const unreachable = (): ApiError =>
  new ApiError('overloaded', 'The service is stopping or starting again.', { headers: { 'retry-after': '1' } })

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError)) return { message: error instanceof Error ? error.message : String(error) }
  return { code: error.code, description: error.description, headers: { ...error.headers } }
}

const errorOf = (refusal: Refusal): Error =>
  'code' in refusal
    ? new ApiError(refusal.code, refusal.description, { headers: refusal.headers })
    : new Error(refusal.message)
