import { AggregatorRegistry } from 'prom-client'
import { createProcessMetrics, type MetricsSnapshot } from '../platform/http/metrics.ts'
import { version } from '../release.ts'
import type { Worker } from './workers.ts'

type Family = MetricsSnapshot[number]

/** Milliseconds to wait for the metrics of a worker; after that, its previous ones are used. */
const timeout = 1000

/** The metrics of a primary and its workers, as those of one service. */
export class SummedMetrics {
  readonly #own = createProcessMetrics(version())
  readonly #last = new Map<number, MetricsSnapshot>()
  /** Final counts of exited workers. Without them, counters would drop, which looks like a restart of the service. */
  #ended: MetricsSnapshot = []

  async text(workers: readonly Worker[]): Promise<string> {
    await Promise.all(workers.map((worker) => this.#refresh(worker)))
    const all = [await this.#own.registry.getMetricsAsJSON(), ...this.#last.values(), this.#ended]
    return AggregatorRegistry.aggregate(all.map((families) => families.map(withAggregator))).metrics()
  }

  /** Counts a worker that ended and is replaced. */
  replaced(): void {
    this.#own.workerReplaced()
  }

  /** Keeps the last reported counts of an exited worker in the sums. */
  async end(index: number): Promise<void> {
    const cumulative = (this.#last.get(index) ?? []).filter(isCumulative)
    this.#last.delete(index)
    this.#ended = await AggregatorRegistry.aggregate([this.#ended, cumulative]).getMetricsAsJSON()
  }

  async #refresh({ index, link }: Worker): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const timedOut = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeout)
    })
    const snapshot = await Promise.race([link.request('metrics').catch(() => undefined), timedOut])
    clearTimeout(timer)
    if (snapshot) this.#last.set(index, snapshot)
  }
}

const isCumulative = ({ type }: Family): boolean => ['counter', 'histogram'].includes(String(type))

/** Sums up counts and sizes. Event-loop delay and the like show the worst process, and the start time the primary's. */
function withAggregator(family: Family): Family {
  const others: Record<string, Family['aggregator']> = { average: 'max', omit: 'first' }
  return { ...family, aggregator: others[family.aggregator] ?? family.aggregator }
}
