/** One turn of one target: what its clients do, and for how long. */
export interface Turn {
  connections: number
  /** Seconds before counting begins, so that code and connections are warm. */
  warmUp: number
  seconds: number
}

export interface TurnResult {
  /** Answers counted. */
  responses: number
  /** Seconds of counting, as they were. */
  seconds: number
  /** Milliseconds. */
  p50: number
  p99: number
}

/** All answers, those before and after the counting too. */
export interface Outcome {
  good: number
  /** Answers that were not what they have to be. */
  failures: number
}

/** What a turn's process says: when counting begins and ends; then, when the last answer is there, how all of them were. */
export type TurnMessage = { event: 'begin' } | ({ event: 'end' } & TurnResult) | ({ event: 'done' } & Outcome)

/** One connection: the next request goes out when the answer is whole. */
export interface TurnClient {
  begin(): void
  /** Resolves when the last answer is there. */
  close(): Promise<void>
}

/** Takes the turn, telling how it goes on standard output. */
export async function runTurn({ warmUp, seconds }: Turn, counter: Counter, clients: readonly TurnClient[]) {
  for (const client of clients) client.begin()
  await pause(warmUp)
  send({ event: 'begin' })
  const startedAt = counter.begin()
  await pause(seconds)
  // On a machine that is very busy, a short turn would end before anything is answered.
  while (counter.responses === 0) await pause(0.01)
  const result = counter.end(startedAt)
  send({ event: 'end', ...result })
  await Promise.all(clients.map((client) => client.close()))
  send({ event: 'done', good: counter.good, failures: counter.failures })
}

const send = (message: TurnMessage) => process.stdout.write(`${JSON.stringify(message)}\n`)
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

export class Counter {
  /** Since the first request, counted or not. */
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
