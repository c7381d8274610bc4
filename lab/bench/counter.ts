/** One turn of one target: its connections and its duration. */
export interface Turn {
  connections: number
  /** Seconds before counting begins, to warm up code and connections. */
  warmUp: number
  seconds: number
}

export interface TurnResult {
  /** Counted responses. */
  responses: number
  /** Actual seconds of counting. */
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** All responses, including those before and after the counting. */
export interface Outcome {
  good: number
  /** Wrong responses. */
  failures: number
}

/** Messages of a turn's process: when counting begins and ends, and the outcome after the last response. */
export type TurnMessage = { event: 'begin' } | ({ event: 'end' } & TurnResult) | ({ event: 'done' } & Outcome)

/** One connection, which sends the next request when the response is complete. */
export interface TurnClient {
  begin(): void
  /** Resolves after the last response. */
  close(): Promise<void>
}

/** Runs the turn and reports its progress on standard output. */
export async function runTurn({ warmUp, seconds }: Turn, counter: Counter, clients: readonly TurnClient[]) {
  for (const client of clients) client.begin()
  await pause(warmUp)
  send({ event: 'begin' })
  const startedAt = counter.begin()
  await pause(seconds)
  // On a very busy machine, a short turn could end before the first response.
  while (counter.responses === 0) await pause(0.01)
  const result = counter.end(startedAt)
  send({ event: 'end', ...result })
  await Promise.all(clients.map((client) => client.close()))
  send({ event: 'done', good: counter.good, failures: counter.failures })
}

const send = (message: TurnMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

export class Counter {
  /** Since the first request, including uncounted ones. */
  failures = 0
  good = 0
  #latencies: number[] = []

  /** Since counting began. */
  get responses(): number {
    return this.#latencies.length
  }

  begin(): number {
    this.#latencies = []
    return performance.now()
  }

  record(milliseconds: number, isGood: boolean): void {
    this.#latencies.push(milliseconds)
    if (isGood) this.good++
    else this.failures++
  }

  end(startedAt: number): TurnResult {
    const seconds = (performance.now() - startedAt) / 1000
    const sorted = Float64Array.from(this.#latencies).sort()
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
    return { responses: sorted.length, seconds, p50: at(0.5), p99: at(0.99) }
  }
}
