import { connect, type Socket } from 'node:net'
import { once } from 'node:events'

/** An unprocessed HTTP response. */
export interface RawResponse {
  status: number
  /** By lower-case name; of repeated headers, the last. */
  headers: Record<string, string>
  body: string
}

/** A connection for requests that no HTTP client would send. */
export interface RawConnection {
  socket: Socket
  write(data: string | Uint8Array): void
  /** The next responses, in order. Set `head` for responses to HEAD requests, which have no body. */
  responses(count: number, options?: { head?: boolean }): Promise<RawResponse[]>
  /** Resolves when the other side has closed the connection. */
  closed: Promise<void>
  /** Received bytes that `responses` has not read yet. */
  bytes(): Buffer
}

/** Opens a connection to the service at `url`. */
export async function openRaw(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = Buffer.alloc(0)
  let ended = false
  // A reset after the response is expected: only the received bytes matter.
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    socket.emit('received')
  })
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      ended = true
      socket.emit('received')
      resolve()
    }
    socket.once('end', end).once('close', end)
  })
  await once(socket, 'connect')
  return {
    socket,
    closed,
    write: (data) => void socket.write(data),
    bytes: () => received,
    async responses(count, { head = false } = {}) {
      const found: RawResponse[] = []
      while (found.length < count) {
        const parsed = readResponse(received, head)
        if (parsed) {
          found.push(parsed.response)
          received = received.subarray(parsed.length)
        } else if (ended) {
          throw new Error(`the connection ended after ${found.length} responses with: ${received.toString()}`)
        } else await once(socket, 'received')
      }
      return found
    },
  }
}

/** Writes `data` on a new connection and reads one response. */
export async function sendRaw(url: string, data: string | Uint8Array): Promise<RawResponse> {
  const connection = await openRaw(url)
  connection.write(data)
  try {
    const [response] = await connection.responses(1)
    if (!response) throw new Error('there is no response')
    return response
  } finally {
    connection.socket.destroy()
  }
}

/** A request as text, with the required headers. */
export function requestText(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): string {
  const all: Record<string, string> = {
    host: 'localhost',
    ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

function readResponse(bytes: Buffer, head: boolean): { response: RawResponse; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const status = Number(statusLine.split(' ')[1])
  const start = headEnd + 4
  if (status === 100) {
    const next = readResponse(bytes.subarray(start), head)
    return next && { response: next.response, length: start + next.length }
  }
  const hasBody = !head && status !== 204 && status !== 304
  const body = hasBody ? readBody(bytes.subarray(start), headers) : { text: '', length: 0 }
  return body && { response: { status, headers, body: body.text }, length: start + body.length }
}

function readBody(bytes: Buffer, headers: Record<string, string>): { text: string; length: number } | undefined {
  if (headers['transfer-encoding'] !== 'chunked') {
    const length = Number(headers['content-length'] ?? 0)
    return bytes.length < length ? undefined : { text: bytes.subarray(0, length).toString(), length }
  }
  let text = ''
  for (let position = 0; ;) {
    const lineEnd = bytes.indexOf('\r\n', position)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(position, lineEnd).toString(), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    text += bytes.subarray(lineEnd + 2, lineEnd + 2 + size).toString()
    position = next
    if (size === 0) return { text, length: position }
  }
}
