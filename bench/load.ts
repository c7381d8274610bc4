import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

/** One measurement: these requests, in turn, over so many connections at a time. */
export interface LoadTask {
  port: number
  /** Whole requests, as they go over the wire. A `numberMark` in them becomes another number each time. */
  requests: readonly string[]
  /** The first of these numbers. */
  firstNumber: number
  connections: number
  /** Seconds before counting begins, so that code and connections are warm. */
  warmUp: number
  seconds: number
}

/** Stands for a number in a request, and takes as many bytes. */
export const numberMark = '########'

export interface LoadResult {
  /** Answers counted. */
  answers: number
  /** Answers with another status than 200. */
  failures: number
  /** Seconds of counting, as they were. */
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** What the load generator says: when counting begins and ends; then, when the last answer is there, how many were 200. */
export type LoadMessage = { event: 'begin' } | ({ event: 'end' } & LoadResult) | { event: 'done'; good: number }

/**
 * The load generator's process: reads a task, tells when counting begins and ends, and the result. Sockets and prepared
 * bytes, and of an answer only status and length are read: it shares the machine with what it measures.
 */
export async function runLoad(): Promise<void> {
  const task = JSON.parse(await text(process.stdin)) as LoadTask
  const requests = prepare(task)
  const counter = new Counter()
  const clients = Array.from({ length: task.connections }, (_, index) => {
    return new Client({ port: task.port, requests, first: index * 7919, counter })
  })
  await Promise.all(clients.map((client) => client.connected))
  for (const client of clients) client.send()
  await pause(task.warmUp)
  tell({ event: 'begin' })
  const began = counter.begin()
  await pause(task.seconds)
  const result = counter.end(began)
  tell({ event: 'end', ...result })
  await Promise.all(clients.map((client) => client.close()))
  tell({ event: 'done', good: counter.good })
}

/** Bytes to send again and again, or new ones each time. */
function prepare({ requests, firstNumber }: LoadTask): (() => Buffer)[] {
  let number = firstNumber
  return requests.map((request) => {
    const bytes = Buffer.from(request)
    const parts = request.split(numberMark)
    if (parts.length === 1) return () => bytes
    return () => Buffer.from(parts.join(String(number++).padStart(numberMark.length, '0')))
  })
}

const tell = (message: LoadMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

class Counter {
  failures = 0
  /** Answers that were 200 since the first request, counted or not. */
  good = 0
  #latencies: number[] = []

  begin(): number {
    this.failures = 0
    this.#latencies = []
    return performance.now()
  }

  note(milliseconds: number, isGood: boolean): void {
    this.#latencies.push(milliseconds)
    if (isGood) this.good++
    else this.failures++
  }

  end(began: number): LoadResult {
    const seconds = (performance.now() - began) / 1000
    const sorted = Float64Array.from(this.#latencies).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return { answers: sorted.length, failures: this.failures, seconds, p50: at(0.5), p99: at(0.99) }
  }
}

interface ClientOptions {
  port: number
  requests: readonly (() => Buffer)[]
  first: number
  counter: Counter
}

const headEnd = Buffer.from('\r\n\r\n')
const good = Buffer.from('HTTP/1.1 200')

/** One connection: the next request goes out when the answer is whole. */
class Client {
  readonly connected: Promise<void>
  readonly #socket: Socket
  readonly #requests: readonly (() => Buffer)[]
  readonly #counter: Counter
  #next: number
  #sentAt = 0
  #isGood = false
  /** Bytes of the body that are to come; undefined while the head is incomplete. */
  #missing: number | undefined
  #head: Buffer | undefined
  /** Told when the answer that is under way is whole; from then on nothing is sent. */
  #closed: (() => void) | undefined

  constructor({ port, requests, first, counter }: ClientOptions) {
    this.#requests = requests
    this.#counter = counter
    this.#next = first
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.connected = new Promise((resolve, reject) => {
      this.#socket.once('connect', resolve).once('error', reject)
    })
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('close', () => process.exitCode ?? fail('the connection was closed'))
  }

  send(): void {
    const request = this.#requests[this.#next++ % this.#requests.length]
    if (!request) throw new Error('there is a request at least')
    this.#sentAt = performance.now()
    this.#socket.write(request())
  }

  /** Resolves when the last answer is there. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => (this.#closed = resolve))
    process.exitCode = 0
    this.#socket.destroy()
  }

  #read(given: Buffer): void {
    let body = given.length
    if (this.#missing === undefined) {
      const chunk = this.#head ? Buffer.concat([this.#head, given]) : given
      const end = chunk.indexOf(headEnd)
      if (end < 0) {
        this.#head = chunk
        return
      }
      this.#head = undefined
      this.#isGood = chunk.subarray(0, good.length).equals(good)
      const length = /\r\ncontent-length: (\d+)/i.exec(chunk.toString('latin1', 0, end + 2))?.[1]
      if (length === undefined) fail('an answer has no Content-Length')
      this.#missing = Number(length)
      body = chunk.length - end - headEnd.length
    }
    this.#missing -= body
    if (this.#missing > 0) return
    this.#missing = undefined
    this.#counter.note(performance.now() - this.#sentAt, this.#isGood)
    if (this.#closed) this.#closed()
    else this.send()
  }
}

function fail(reason: string): never {
  process.stderr.write(`load generator: ${reason}\n`)
  process.exit(1)
}
