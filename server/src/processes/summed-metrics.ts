import { AggregatorRegistry } from 'prom-client'
import { createProcessMetrics, type MetricsSnapshot } from '../platform/http/metrics.ts'
import type { Worker } from './workers.ts'

type Family = MetricsSnapshot[number]

/** Milliseconds that a worker may take to report its metrics; after that, its last ones count. */
const timeout = 1000

/** The metrics of a primary and its workers, as those of one service. */
export class SummedMetrics {
  readonly #own = createProcessMetrics()
  readonly #last = new Map<number, MetricsSnapshot>()
  /** What workers that have ended had counted: a counter that went down would look like a restart of all. */
  #ended: MetricsSnapshot = []

  async text(workers: readonly Worker[]): Promise<string> {
    await Promise.all(workers.map((worker) => this.#look(worker)))
    const all = [await this.#own.getMetricsAsJSON(), ...this.#last.values(), this.#ended]
    return AggregatorRegistry.aggregate(all.map((families) => families.map(withAggregator))).metrics()
  }

  /** A worker has ended: what it had counted by the last report stays in the sums. */
  async end(index: number): Promise<void> {
    const cumulative = (this.#last.get(index) ?? []).filter(isCumulative)
    this.#last.delete(index)
    this.#ended = await AggregatorRegistry.aggregate([this.#ended, cumulative]).getMetricsAsJSON()
  }

  async #look({ index, link }: Worker): Promise<void> {
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

/**
 * Counts and sizes are summed. Of what an average would hide, such as the delay of the event loop, the worst process counts;
 * of the time of the start, the primary's, which comes first.
 */
function withAggregator(family: Family): Family {
  const others: Record<string, Family['aggregator']> = { average: 'max', omit: 'first' }
  return { ...family, aggregator: others[family.aggregator] ?? family.aggregator }
}
