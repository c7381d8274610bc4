import { connect, type Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

/** A complete response. */
export interface HttpResponse {
  status: number
  /** The raw status line and headers. */
  head: string
  /** Values by lower-case name; repeated ones are joined by commas. */
  headers: ReadonlyMap<string, string>
  /** Decompressed; empty without a body. */
  text: string
  milliseconds: number
}

/** No complete response was received; the message says why. */
export class NoResponseError extends Error {}

/** Milliseconds. */
export const responseTimeout = 5000

interface PendingRequest {
  isHead: boolean
  sentAt: number
  resolve(response: HttpResponse): void
  reject(error: NoResponseError): void
  timer: NodeJS.Timeout
}

const headEnd = Buffer.from('\r\n\r\n')

/** Sends raw requests, one at a time, and reconnects after the connection was closed. */
export class Connection {
  readonly #port: number
  #socket: Socket | undefined
  #received: Buffer = Buffer.alloc(0)
  #waiting: PendingRequest | undefined
  #isFresh = true

  constructor(port: number) {
    this.#port = port
  }

  /**
   * Sends a request and reads its response. With `closesConnection`, the request uses a new connection, and our side is
   * closed after it. Errors: `NoResponseError`.
   */
  async exchange(
    bytes: Buffer,
    { isHead, closesConnection }: { isHead: boolean; closesConnection: boolean },
  ): Promise<HttpResponse> {
    if (closesConnection) this.close()
    const wasNew = this.#socket === undefined
    try {
      return await this.#exchange(bytes, isHead, closesConnection)
    } catch (error) {
      // A reused connection may have been closed before the request arrived, which says nothing about the request.
      if (wasNew || !(error instanceof NoResponseError) || !this.#isFresh) throw error
      return await this.#exchange(bytes, isHead, closesConnection)
    } finally {
      if (closesConnection) this.close()
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #exchange(bytes: Buffer, isHead: boolean, closesConnection: boolean): Promise<HttpResponse> {
    const socket = (this.#socket ??= this.#connect())
    this.#received = Buffer.alloc(0)
    this.#isFresh = true
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#isFresh = false
        this.#fail(`no response within ${responseTimeout} ms`)
      }, responseTimeout)
      this.#waiting = { isHead, sentAt: performance.now(), resolve, reject, timer }
      if (closesConnection) socket.end(bytes)
      else socket.write(bytes)
    })
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      if (this.#socket === socket) this.#read(chunk)
    })
    const onEnd = () => {
      if (this.#socket !== socket) return
      this.close()
      this.#fail('the connection was closed before the response was complete')
    }
    socket.on('end', onEnd).on('close', onEnd)
    return socket
  }

  #fail(reason: string): void {
    const pending = this.#takePending()
    this.close()
    pending?.reject(new NoResponseError(reason))
  }

  #takePending(): PendingRequest | undefined {
    const pending = this.#waiting
    this.#waiting = undefined
    clearTimeout(pending?.timer)
    return pending
  }

  #read(chunk: Buffer): void {
    this.#isFresh = false
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const { isHead, sentAt } = this.#waiting ?? {}
    if (isHead === undefined || sentAt === undefined) return this.close()
    const response = parseResponse(this.#received, isHead, performance.now() - sentAt)
    if (!response) return
    if (response.headers.get('connection') === 'close' || isStream(response.headers)) this.close()
    this.#takePending()?.resolve(response)
  }
}

/** Undefined while the response is incomplete. */
function parseResponse(received: Buffer, isHead: boolean, milliseconds: number): HttpResponse | undefined {
  const end = received.indexOf(headEnd)
  if (end < 0) return undefined
  const head = received.toString('latin1', 0, end)
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const rest = received.subarray(end + headEnd.length)
  // An interim response precedes the final one.
  if (status < 200) return parseResponse(rest, isHead, milliseconds)
  const headers = headersOf(lines)
  if (isHead || status === 204 || status === 304) return { status, head, headers, text: '', milliseconds }
  const isChunked = headers.get('transfer-encoding') === 'chunked'
  const body = isChunked ? joinChunks(rest, isStream(headers)) : completeBody(rest, headers)
  return body && { status, head, headers, text: decompress(body, headers.get('content-encoding')), milliseconds }
}

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

function completeBody(rest: Buffer, headers: ReadonlyMap<string, string>): Buffer | undefined {
  const length = Number(headers.get('content-length') ?? 0)
  return rest.length < length ? undefined : rest.subarray(0, length)
}

/** A stream of events has no end: its first chunk is enough. */
const isStream = (headers: ReadonlyMap<string, string>): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** Decodes a chunked body, or its first chunk; undefined while that is incomplete. */
function joinChunks(rest: Buffer, onlyFirst: boolean): Buffer | undefined {
  const parts: Buffer[] = []
  for (let position = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', position)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(rest.toString('latin1', position, lineEnd), 16)
    const start = lineEnd + 2
    if (rest.length < start + size + 2) return undefined
    if (size === 0) return Buffer.concat(parts)
    parts.push(rest.subarray(start, start + size))
    if (onlyFirst) return Buffer.concat(parts)
    position = start + size + 2
  }
}

function decompress(body: Buffer, encoding: string | undefined): string {
  if (encoding === 'gzip') return gunzipSync(body).toString()
  return (encoding === 'br' ? brotliDecompressSync(body) : body).toString()
}
