import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

/** Requests to send to the service, either at a constant rate or as fast as the connections get responses. */
export interface OfferTask {
  port: number
  /** Complete requests as sent over the wire, in turn. A `numberPlaceholder` is replaced by a new number each time. */
  requests: readonly string[]
  /** The first number for the placeholders. */
  firstNumber: number
  /** Requests per second, regardless of the responses; 0 sends the next one after each response. */
  rate: number
  /** Maximum number of connections. */
  connections: number
  /** Seconds before counting begins. */
  warmUp: number
  seconds: number
}

/** Replaced by a number of the same length in a request. */
export const numberPlaceholder = '########'

export interface OfferResult {
  /** Actual seconds of counting. */
  seconds: number
  /** Requests that were to be sent. */
  offered: number
  /** Responses by status. */
  statuses: Record<string, number>
  /** Requests without a response because the connection was closed. */
  closed: number
  /** Requests that were not sent because no connection was free. */
  unsent: number
  /** Successful responses: milliseconds from when the request was due. */
  good: Latencies
  /** Rejections: milliseconds from when the request was sent. */
  refused: Latencies
}

export interface Latencies {
  count: number
  p50: number
  p99: number
  max: number
}

/**
 * The main function of a separate process: reads the task, sends requests and prints the result. It uses raw sockets,
 * because it shares the machine with the service.
 */
export async function runOffer(): Promise<void> {
  const task = JSON.parse(await text(process.stdin)) as OfferTask
  const offer = new Offer(task)
  const result = await offer.run()
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
}

class Offer {
  readonly #task: OfferTask
  readonly #idle: Connection[] = []
  readonly #waiting: number[] = []
  #number: number
  #next = 0
  #isOver = false
  #counting = false
  #offered = 0
  #closed = 0
  #unsent = 0
  #statuses = new Map<number, number>()
  #good: number[] = []
  #refused: number[] = []

  constructor(task: OfferTask) {
    this.#task = task
    this.#number = task.firstNumber
  }

  async run(): Promise<OfferResult> {
    const { rate, connections, warmUp, seconds } = this.#task
    for (let count = 0; count < connections; count++) {
      this.#open()
      // Not all at once, so that the listen backlog does not overflow; it is not what is measured.
      if (count % 50 === 49) await sleep(20)
    }
    const timer = rate === 0 ? undefined : this.#arrive(rate)
    await sleep(warmUp * 1000)
    this.#counting = true
    const startedAt = performance.now()
    await sleep(seconds * 1000)
    this.#counting = false
    this.#isOver = true
    clearInterval(timer)
    const counted = (performance.now() - startedAt) / 1000
    return {
      seconds: counted,
      offered: this.#offered,
      statuses: Object.fromEntries([...this.#statuses].sort(([left], [right]) => left - right)),
      closed: this.#closed,
      unsent: this.#unsent,
      good: latenciesOf(this.#good),
      refused: latenciesOf(this.#refused),
    }
  }

  /** Sends requests at even intervals, regardless of earlier ones. */
  #arrive(rate: number): NodeJS.Timeout {
    const startedAt = performance.now()
    let sent = 0
    return setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) * rate) / 1000)
      for (; sent < due; sent++) this.#send(startedAt + (sent * 1000) / rate)
    }, 1)
  }

  #send(dueAt: number): void {
    if (this.#counting) this.#offered++
    const connection = this.#idle.pop()
    if (connection) connection.send(this.#bytes(), dueAt)
    else if (this.#waiting.length < this.#task.connections) this.#waiting.push(dueAt)
    else if (this.#counting) this.#unsent++
  }

  #open(): void {
    const connection = new Connection(this.#task.port, {
      onFree: () => this.#take(connection),
      onResponse: (status, dueAt, sentAt) => this.#note(status, dueAt, sentAt),
      onClosed: (wasBusy) => {
        if (wasBusy && this.#counting) this.#closed++
        const index = this.#idle.indexOf(connection)
        if (index >= 0) this.#idle.splice(index, 1)
        if (!this.#isOver) this.#open()
      },
    })
  }

  #take(connection: Connection): void {
    if (this.#isOver) return
    const dueAt = this.#task.rate === 0 ? performance.now() : this.#waiting.shift()
    if (dueAt === undefined) this.#idle.push(connection)
    else {
      if (this.#task.rate === 0 && this.#counting) this.#offered++
      connection.send(this.#bytes(), dueAt)
    }
  }

  #note(status: number, dueAt: number, sentAt: number): void {
    if (!this.#counting) return
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1)
    if (status < 400) this.#good.push(performance.now() - dueAt)
    else this.#refused.push(performance.now() - sentAt)
  }

  #bytes(): string {
    const { requests } = this.#task
    const request = requests[this.#next++ % requests.length] ?? ''
    return request.includes(numberPlaceholder)
      ? request.replaceAll(numberPlaceholder, String(this.#number++).padStart(numberPlaceholder.length, '0'))
      : request
  }
}

interface ConnectionEvents {
  onFree(): void
  onResponse(status: number, dueAt: number, sentAt: number): void
  onClosed(wasBusy: boolean): void
}

const headEnd = '\r\n\r\n'

/** One connection with one request at a time; reads only the status and length of a response. */
class Connection {
  readonly #socket: Socket
  #dueAt: number | undefined
  #sentAt = 0
  #head = ''
  #missing: number | undefined
  #status = 0

  constructor(port: number, events: ConnectionEvents) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.once('connect', () => events.onFree())
    this.#socket.on('data', (chunk) => this.#read(String(chunk), events))
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => events.onClosed(this.#dueAt !== undefined))
  }

  send(bytes: string, dueAt: number): void {
    this.#dueAt = dueAt
    this.#sentAt = performance.now()
    this.#socket.write(bytes)
  }

  #read(chunk: string, events: ConnectionEvents): void {
    if (this.#missing === undefined) {
      this.#head += chunk
      const end = this.#head.indexOf(headEnd)
      if (end < 0) return
      this.#status = Number(this.#head.slice(9, 12))
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head.slice(0, end + 2))?.[1] ?? 0)
      this.#missing = length - (this.#head.length - end - headEnd.length)
      this.#head = ''
    } else this.#missing -= chunk.length
    if (this.#missing > 0) return
    this.#missing = undefined
    const dueAt = this.#dueAt ?? Number.NaN
    this.#dueAt = undefined
    events.onResponse(this.#status, dueAt, this.#sentAt)
    events.onFree()
  }
}

function latenciesOf(values: readonly number[]): Latencies {
  const sorted = Float64Array.from(values).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
