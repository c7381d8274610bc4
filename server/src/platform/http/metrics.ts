import { createServer } from 'node:http'
import type { Logger } from 'pino'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { addInstallationMetrics, type InstallationState } from './installation-metrics.ts'
import { listenOn } from './listen.ts'
import type { ReservedPort } from './pages/reserved-port.ts'

export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void
  /** Counts a request that was rejected early because too many were waiting. */
  rejected(): void
  purged(name: string, count: number): void
  /** Counts a push that was answered with an error. */
  pushRefused(code: string): void
  /** Counts a note that was analysed; `result` says why the configured model did not answer, or `ok`. */
  noteAnalysed(engine: string, result: string): void
  /** In the Prometheus text format. */
  text(): Promise<string>
  snapshot(): Promise<MetricsSnapshot>
}

/** Numbers of imports that need a person. */
export interface ImportAlarms {
  refusing: () => Promise<number>
  nearLimit: () => Promise<number>
  optingOut: () => Promise<number>
}

/** The metrics that the primary process and its workers have. */
export function createProcessMetrics(version: string): { registry: Registry; workerReplaced: () => void } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'rapport_' })
  const build = new Gauge({
    name: 'rapport_build_info',
    help: 'The version of the service, as a label. The value is always 1.',
    labelNames: ['version'],
    aggregator: 'first',
    registers: [registry],
  })
  build.set({ version }, 1)
  const replaced = new Counter({
    name: 'rapport_workers_replaced_total',
    help: 'Processes of PROCESSES that ended and were replaced',
    registers: [registry],
  })
  return { registry, workerReplaced: () => replaced.inc() }
}

export interface MetricsOptions {
  version: string
  pool: () => { total: number; idle: number; waiting: number }
  /** Only for the process that maintains the database. */
  installation?: { alarms: ImportAlarms; measure: () => Promise<InstallationState> } | undefined
}

export function createMetrics({ version, pool, installation }: MetricsOptions): Metrics {
  const { registry } = createProcessMetrics(version)
  const seconds = new Histogram({
    name: 'rapport_http_request_duration_seconds',
    help: 'Duration of requests in seconds, by method, route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  new Gauge({
    name: 'rapport_database_connections',
    help: 'Database connections for requests: total, idle, and requests waiting for one',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(pool())) this.set({ state }, count)
    },
  })
  const rejected = new Counter({
    name: 'rapport_http_requests_rejected_total',
    help: 'Requests rejected early with 503 because too many were waiting',
    registers: [registry],
  })
  const purged = new Counter({
    name: 'rapport_purged_records_total',
    help: 'Records purged after their retention ended, by kind',
    labelNames: ['kind'],
    registers: [registry],
  })
  const analysed = new Counter({
    name: 'rapport_notes_analysed_total',
    help: 'Notes that were analysed, by engine and result: ok, or why the model did not answer',
    labelNames: ['engine', 'result'],
    registers: [registry],
  })
  const refused = new Counter({
    name: 'rapport_pushes_refused_total',
    help: 'Pushes to imports that were answered with an error, by its code',
    labelNames: ['code'],
    registers: [registry],
  })
  const countWhenRead = (name: string, help: string, count: () => Promise<number>) =>
    new Gauge({
      name,
      help: `${help}; not a number while the database is unavailable`,
      registers: [registry],
      async collect() {
        this.set(await count().catch(() => Number.NaN))
      },
    })
  if (installation) {
    const { alarms, measure } = installation
    addInstallationMetrics(registry, measure)
    countWhenRead(
      'rapport_imports_refusing',
      'Imports with a sender whose last pushes were all refused',
      alarms.refusing,
    )
    countWhenRead(
      'rapport_imports_near_limit',
      'Imports that have received at least 80 % of the bytes that they may receive today',
      alarms.nearLimit,
    )
    countWhenRead(
      'rapport_imports_opting_out',
      'Imports whose opt-outs wait for a person because there were many within an hour',
      alarms.optingOut,
    )
  }
  const children = new Map<string, ReturnType<typeof seconds.labels>>()
  return {
    observe(method, route, status, took) {
      const name = `${method} ${status} ${route}`
      const child = children.get(name) ?? seconds.labels({ method, route, status })
      children.set(name, child)
      child.observe(took)
    },
    rejected: () => rejected.inc(),
    purged: (kind, count) => purged.inc({ kind }, count),
    pushRefused: (code) => refused.inc({ code }),
    noteAnalysed: (engine, result) => analysed.inc({ engine, result }),
    text: () => registry.metrics(),
    snapshot: () => registry.getMetricsAsJSON(),
  }
}

interface MetricsPort {
  /** If undefined, no metrics are served. */
  port: number | undefined
  host: string
  reserved: ReservedPort | undefined
  log: Logger
}

/** Serves `/metrics` on a separate port, so that the API's callers cannot reach it. */
export async function serveMetrics(
  text: () => Promise<string>,
  { port, host, reserved, log }: MetricsPort,
): Promise<{ close(): Promise<void> } | undefined> {
  if (port === undefined) return undefined
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    text().then(
      (body) => response.writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE }).end(body),
      () => response.writeHead(500).end(),
    )
  })
  reserved?.handOverTo(server)
  const actual = await listenOn(server, port, host)
  log.info({ url: `http://${host}:${actual}/metrics` }, 'metrics')
  return { close: () => new Promise((resolve) => server.close(() => resolve())) }
}
