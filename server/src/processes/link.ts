import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { ApiError, type ErrorCode } from '../platform/model/errors.ts'

/** Functions that another process may call. Arguments and results are sent as JSON. */
type Functions<Names> = { [Name in keyof Names]: (...values: never[]) => unknown }
type Values<F> = F extends (...values: infer V) => unknown ? V : never
type Result<F> = F extends (...values: never[]) => infer R ? Awaited<R> : never

type SerializedError = { code: ErrorCode; description: string; headers: Record<string, string> } | { message: string }

type Message =
  | { call: string; id?: number; values: unknown[] }
  | { responseTo: number; value: unknown }
  | { responseTo: number; error: SerializedError }

interface PendingCall {
  resolve(value: never): void
  reject(error: unknown): void
}

/** `ChildProcess` in the parent, `process` in the child. */
interface ChannelEnd {
  readonly connected: boolean
  send?: ChildProcess['send'] | undefined
  on(event: 'message', listener: (message: unknown, handle: unknown) => void): unknown
  on(event: 'disconnect', listener: () => void): unknown
}

interface LinkOptions {
  /** Functions that the other process may call here. */
  functions: object
  /** Receives a connection that the other process accepted; undefined if the client has closed it meanwhile. */
  onSocket?: (socket: Socket | undefined) => void
}

/** Remote calls between two processes. All messages of one event-loop turn are sent as one, to save time under load. */
export class Link<Remote extends Functions<Remote>> {
  readonly #channel: ChannelEnd
  readonly #waiting = new Map<number, PendingCall>()
  #lastId = 0
  #entries: Message[] = []
  /** Connections that the other process has not accepted, the oldest first, and whether Node has sent them yet. */
  readonly #handedOver = new Map<Socket, boolean>()

  constructor(channel: ChannelEnd, { functions, onSocket }: LinkOptions) {
    this.#channel = channel
    const localFunctions = new Map<string, (...values: unknown[]) => unknown>(Object.entries(functions))
    channel.on('message', (message: unknown, handle: unknown) => {
      if (message === 'connection') onSocket?.(handle as Socket | undefined)
      else for (const entry of message as Message[]) this.#receive(entry, localFunctions)
    })
    channel.on('disconnect', () => this.end())
  }

  get pendingSockets(): number {
    return this.#handedOver.size
  }

  /** Rejects calls, closes sent connections, returns the others. Node emits no `disconnect` while some wait. */
  end(): Socket[] {
    for (const { reject } of this.#waiting.values()) reject(unreachable())
    this.#waiting.clear()
    const handedOver = [...this.#handedOver]
    this.#handedOver.clear()
    for (const [socket, isSent] of handedOver) if (isSent) socket.destroy()
    return handedOver.filter(([, isSent]) => !isSent).map(([socket]) => socket)
  }

  /** Calls a function of the other process. Errors: what it throws; 503 if the process has exited. */
  request<Name extends keyof Remote & string>(
    call: Name,
    ...values: Values<Remote[Name]>
  ): Promise<Result<Remote[Name]>> {
    return new Promise((resolve, reject) => {
      if (!this.#channel.connected) return reject(unreachable())
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#post({ call, id, values })
    })
  }

  send<Name extends keyof Remote & string>(call: Name, ...values: Values<Remote[Name]>): void {
    this.#post({ call, values })
  }

  /** Hands over an accepted connection from which nothing has been read. */
  handOver(socket: Socket): void {
    this.#handedOver.set(socket, false)
    this.#channel.send?.('connection', socket, { keepOpen: true }, (error) => {
      if (this.#handedOver.has(socket)) this.#handedOver.set(socket, true)
      if (error) this.#close(socket)
    })
  }

  accepted(): void {
    const [oldest] = this.#handedOver.keys()
    if (oldest) this.#close(oldest)
  }

  #close(socket: Socket): void {
    this.#handedOver.delete(socket)
    socket.destroy()
  }

  #post(entry: Message): void {
    this.#entries.push(entry)
    if (this.#entries.length > 1) return
    setImmediate(() => {
      const entries = this.#entries
      this.#entries = []
      // If the other process has exited, `disconnect` rejects the calls.
      if (this.#channel.connected) this.#channel.send?.(entries, undefined, undefined, () => undefined)
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
      // A synchronous result is sent in the same turn.
      const value = result instanceof Promise ? await result : result
      if (id !== undefined) this.#post({ responseTo: id, value })
    } catch (error) {
      if (id === undefined) throw error
      this.#post({ responseTo: id, error: serializeError(error) })
    }
  }
}

const unreachable = (): ApiError =>
  new ApiError('overloaded', 'The service is stopping or restarting.', { headers: { 'retry-after': '1' } })

function serializeError(error: unknown): SerializedError {
  if (!(error instanceof ApiError)) return { message: error instanceof Error ? error.message : String(error) }
  return { code: error.code, description: error.description, headers: { ...error.headers } }
}

const deserializeError = (serialized: SerializedError): Error =>
  'code' in serialized
    ? new ApiError(serialized.code, serialized.description, { headers: serialized.headers })
    : new Error(serialized.message)
