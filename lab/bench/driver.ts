import { text } from 'node:stream/consumers'
import pg from 'pg'
import { Counter, runTurn, type Turn, type TurnClient } from './counter.ts'
import { type Packed, runExchange, repeatable, unpack, type VariableParts } from './exchange.ts'
import { formatNumber } from './load.ts'
import type { Exchange } from './recording.ts'

/** The task of the driver's process. */
export interface DriverTask extends Turn {
  connection: pg.ClientConfig
  packed: Packed
  /** For writes: the values that differ each time, in the order of the exchanges. */
  variableParts?: readonly VariableParts[]
  firstNumber: number
  /** Characters of the expected responses, in the order of the exchanges; null if unknown in advance. */
  lengths: readonly (number | null)[]
}

/** Runs the statements through the driver alone: one process, the same number of connections, no HTTP. */
export async function runDriver(): Promise<void> {
  const task = JSON.parse(await text(process.stdin)) as DriverTask
  const exchanges = exchangeFactories(task)
  const counter = new Counter()
  const clients = Array.from({ length: task.connections }, (_, index) => {
    return new Client(task, exchanges, counter, index * 7919)
  })
  await Promise.all(clients.map((client) => client.connect()))
  await runTurn(task, counter, clients)
}

function exchangeFactories({ packed, variableParts, firstNumber }: DriverTask): (() => Exchange)[] {
  let number = firstNumber
  return unpack(packed).map((exchange, index) => {
    const parts = variableParts?.[index]
    if (!parts) return () => exchange
    const make = repeatable(exchange, parts)
    return () => make(formatNumber(number++))
  })
}

class Client implements TurnClient {
  readonly #client: pg.Client
  readonly #exchanges: readonly (() => Exchange)[]
  readonly #lengths: DriverTask['lengths']
  readonly #counter: Counter
  #next: number
  #isClosing = false
  #work: Promise<void> = Promise.resolve()

  constructor(
    { connection, lengths }: DriverTask,
    exchanges: readonly (() => Exchange)[],
    counter: Counter,
    first: number,
  ) {
    this.#client = new pg.Client({ ...connection, pipeline: true } as pg.ClientConfig)
    this.#exchanges = exchanges
    this.#lengths = lengths
    this.#counter = counter
    this.#next = first
  }

  async connect(): Promise<void> {
    await this.#client.connect()
  }

  begin(): void {
    this.#work = this.#run()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    await this.#work
    await this.#client.end()
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      const index = this.#next++ % this.#exchanges.length
      const exchange = this.#exchanges[index]?.() ?? []
      const expected = this.#lengths[index] ?? null
      const startedAt = performance.now()
      const text = await runExchange(this.#client, exchange)
      const isGood = text !== '' && (expected === null || expected === text.length)
      this.#counter.record(performance.now() - startedAt, isGood)
    }
  }
}
