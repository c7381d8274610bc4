import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Counter, runTurn, type Turn, type TurnClient } from './counter.ts'

/** A complete request, as sent over the wire. */
export interface Request {
  /** A `numberPlaceholder` in it is replaced by a new number each time. */
  bytes: string
  /** Expected bytes of the response body; undefined if unknown in advance. */
  length: number | undefined
}

/** One turn: these requests in order, over several connections. */
export interface LoadTask extends Turn {
  port: number
  requests: readonly Request[]
  /** The expected status of every response. */
  status: number
  /** The first number for the placeholders. */
  firstNumber: number
}

/** Replaced by a number of the same length in a request. */
export const numberPlaceholder = '########'

/** The text that replaces the placeholder. */
export const formatNumber = (number: number): string => String(number).padStart(numberPlaceholder.length, '0')

/**
 * The load generator's process. It uses raw sockets and prepared bytes, and reads only the status and length of a
 * response, because it shares the machine with the measured programs.
 */
export async function runLoad(): Promise<void> {
  const task = JSON.parse(await text(process.stdin)) as LoadTask
  const requests = prepare(task)
  const counter = new Counter()
  const clients = Array.from({ length: task.connections }, (_, index) => {
    return new Client({ port: task.port, status: task.status, requests, first: index * 7919, counter })
  })
  await Promise.all(clients.map((client) => client.connected))
  await runTurn(task, counter, clients)
}

interface Prepared {
  /** Returns the same bytes each time, or new ones with a new number. */
  make: () => Buffer
  length: number | undefined
}

function prepare({ requests, firstNumber }: LoadTask): Prepared[] {
  let number = firstNumber
  return requests.map(({ bytes, length }) => {
    const parts = bytes.split(numberPlaceholder)
    const unchanged = Buffer.from(bytes)
    const make = parts.length === 1 ? () => unchanged : () => Buffer.from(parts.join(formatNumber(number++)))
    return { make, length }
  })
}

interface ClientOptions {
  port: number
  status: number
  requests: readonly Prepared[]
  first: number
  counter: Counter
}

const headEnd = Buffer.from('\r\n\r\n')

class Client implements TurnClient {
  readonly connected: Promise<void>
  readonly #socket: Socket
  readonly #requests: readonly Prepared[]
  readonly #counter: Counter
  readonly #good: Buffer
  #next: number
  #sentAt = 0
  #isGood = false
  /** Expected bytes of the body. */
  #expected: number | undefined
  /** Remaining bytes of the body; undefined while the head is incomplete. */
  #missing: number | undefined
  #head: Buffer | undefined
  /** Called when the current response is complete; nothing is sent after it is set. */
  #closed: (() => void) | undefined

  constructor({ port, status, requests, first, counter }: ClientOptions) {
    this.#requests = requests
    this.#counter = counter
    this.#good = Buffer.from(`HTTP/1.1 ${status}`)
    this.#next = first
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.connected = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve).once('error', reject)
    })
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('close', () => process.exitCode ?? fail('the connection was closed'))
  }

  begin(): void {
    this.#send()
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => (this.#closed = resolve))
    process.exitCode = 0
    this.#socket.destroy()
  }

  #send(): void {
    const request = this.#requests[this.#next++ % this.#requests.length]
    if (!request) throw new Error('at least one request is required')
    this.#expected = request.length
    this.#sentAt = performance.now()
    this.#socket.write(request.make())
  }

  #read(received: Buffer): void {
    let body = received.length
    if (this.#missing === undefined) {
      const chunk = this.#head ? Buffer.concat([this.#head, received]) : received
      const end = chunk.indexOf(headEnd)
      if (end < 0) {
        this.#head = chunk
        return
      }
      this.#head = undefined
      this.#missing = this.#readHead(chunk, end)
      body = chunk.length - end - headEnd.length
    }
    this.#missing -= body
    if (this.#missing > 0) return
    this.#missing = undefined
    this.#counter.record(performance.now() - this.#sentAt, this.#isGood)
    if (this.#closed) this.#closed()
    else this.#send()
  }

  /** Returns the length of the body. */
  #readHead(chunk: Buffer, end: number): number {
    const text = /\r\ncontent-length: (\d+)/i.exec(chunk.toString('latin1', 0, end + 2))?.[1]
    if (text === undefined) fail('a response has no Content-Length')
    const length = Number(text)
    const isExpected = this.#expected === undefined || this.#expected === length
    this.#isGood = isExpected && chunk.subarray(0, this.#good.length).equals(this.#good)
    return length
  }
}

function fail(reason: string): never {
  process.stderr.write(`load generator: ${reason}\n`)
  process.exit(1)
}
