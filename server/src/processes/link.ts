import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { ApiError, type ErrorCode } from '../platform/model/errors.ts'

/** Functions that another process may call: what they take and give is sent as JSON. */
type Functions<Names> = { [Name in keyof Names]: (...values: never[]) => unknown }
type Values<F> = F extends (...values: infer V) => unknown ? V : never
type Result<F> = F extends (...values: never[]) => infer R ? Awaited<R> : never

type SerializedError = { code: ErrorCode; description: string; headers: Record<string, string> } | { message: string }

/** A call (with an id where an answer is wanted), what came of one, or the error that it ended with. */
type Message =
  | { call: string; id?: number; values: unknown[] }
  | { responseTo: number; value: unknown }
  | { responseTo: number; error: SerializedError }

interface PendingCall {
  resolve(value: never): void
  reject(error: unknown): void
}

/** One end of the channel between a process and one that it started: the child in the parent, `process` in the child. */
interface ChannelEnd {
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
export class Link<Remote extends Functions<Remote>> {
  readonly #end: ChannelEnd
  readonly #waiting = new Map<number, PendingCall>()
  #lastId = 0
  #entries: Message[] = []

  constructor(end: ChannelEnd, { functions, onSocket }: LinkOptions) {
    this.#end = end
    const localFunctions = new Map<string, (...values: unknown[]) => unknown>(Object.entries(functions))
    end.on('message', (message: unknown, handle: unknown) => {
      if (message === 'connection') onSocket?.(handle as Socket | undefined)
      else for (const entry of message as Message[]) this.#receive(entry, localFunctions)
    })
    end.on('disconnect', () => {
      for (const { reject } of this.#waiting.values()) reject(unreachable())
      this.#waiting.clear()
    })
  }

  /** Calls a function over there and waits for what it gives. Errors: what it throws; 503 when that process is gone. */
  request<Name extends keyof Remote & string>(
    call: Name,
    ...values: Values<Remote[Name]>
  ): Promise<Result<Remote[Name]>> {
    return new Promise((resolve, reject) => {
      if (!this.#end.connected) return reject(unreachable())
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#post({ call, id, values })
    })
  }

  /** Calls a function over there without waiting for it. */
  send<Name extends keyof Remote & string>(call: Name, ...values: Values<Remote[Name]>): void {
    this.#post({ call, values })
  }

  /** Hands an accepted connection over, of which nothing has been read. */
  handOver(socket: Socket): void {
    this.#end.send?.('connection', socket, undefined, (error) => {
      if (error) socket.destroy()
    })
  }

  #post(entry: Message): void {
    this.#entries.push(entry)
    if (this.#entries.length > 1) return
    setImmediate(() => {
      const entries = this.#entries
      this.#entries = []
      // An end that has gone meanwhile is told by `disconnect`.
      if (this.#end.connected) this.#end.send?.(entries, undefined, undefined, () => undefined)
    })
  }

  #receive(entry: Message, localFunctions: ReadonlyMap<string, (...values: unknown[]) => unknown>): void {
    if ('call' in entry) void this.#perform(entry, localFunctions.get(entry.call))
    else {
      const pendingCall = this.#waiting.get(entry.responseTo)
      this.#waiting.delete(entry.responseTo)
      if ('error' in entry) pendingCall?.reject(deserializeError(entry.error))
      else pendingCall?.resolve(entry.value as never)
    }
  }

  async #perform(
    { call, id, values }: { call: string; id?: number; values: unknown[] },
    perform: ((...values: unknown[]) => unknown) | undefined,
  ): Promise<void> {
    try {
      if (!perform) throw new Error(`${call} is not a function of this process`)
      const result = perform(...values)
      // What needs no wait is answered in the same turn.
      const value = result instanceof Promise ? await result : result
      if (id !== undefined) this.#post({ responseTo: id, value })
    } catch (error) {
      if (id === undefined) throw error
      this.#post({ responseTo: id, error: serializeError(error) })
    }
  }
}

const unreachable = (): ApiError =>
  new ApiError('overloaded', 'The service is stopping or starting again.', { headers: { 'retry-after': '1' } })

function serializeError(error: unknown): SerializedError {
  if (!(error instanceof ApiError)) return { message: error instanceof Error ? error.message : String(error) }
  return { code: error.code, description: error.description, headers: { ...error.headers } }
}

const deserializeError = (serialized: SerializedError): Error =>
  'code' in serialized
    ? new ApiError(serialized.code, serialized.description, { headers: serialized.headers })
    : new Error(serialized.message)
