import { createServer, type Server } from 'node:http'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What is measured of the service, for Prometheus. */
export interface Metrics {
  observe(method: string, route: string, status: number, seconds: number): void
  /** A request was refused at the door: too many wait. */
  refused(): void
  /** So many of these were purged. */
  purged(name: string, count: number): void
  /** Serves `/metrics` on a port of its own, so that it is never open to those who reach the API. */
  listen(port: number, host: string): Promise<{ url: string; close(): Promise<void> }>
}

export function createMetrics(pool: () => { total: number; idle: number; waiting: number }): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'rapport_' })
  const seconds = new Histogram({
    name: 'rapport_http_request_seconds',
    help: 'How long requests took, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  })
  new Gauge({
    name: 'rapport_database_connections',
    help: 'Connections of the pool, by state',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(pool())) this.set({ state }, count)
    },
  })
  const refused = new Counter({
    name: 'rapport_http_refused_total',
    help: 'Requests that were refused unread because those before them waited too long',
    registers: [registry],
  })
  const purged = new Counter({
    name: 'rapport_purged_total',
    help: 'Rows that were purged because their time was over, by kind',
    labelNames: ['kind'],
    registers: [registry],
  })
  const children = new Map<string, ReturnType<typeof seconds.labels>>()
  return {
    observe(method, route, status, took) {
      const name = `${method} ${status} ${route}`
      const child = children.get(name) ?? seconds.labels({ method, route, status })
      children.set(name, child)
      child.observe(took)
    },
    refused: () => refused.inc(),
    purged: (kind, count) => purged.inc({ kind }, count),
    async listen(port, host) {
      const server = createServer((request, response) => {
        if (request.url !== '/metrics') {
          response.writeHead(404).end()
          return
        }
        registry.metrics().then(
          (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
          () => response.writeHead(500).end(),
        )
      })
      const actual = await listening(server, port, host)
      return {
        url: `http://${host}:${actual}/metrics`,
        close: () => new Promise((resolve) => server.close(() => resolve())),
      }
    },
  }
}

function listening(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}
