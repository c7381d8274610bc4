import { once } from 'node:events'
import { Agent, createServer, request as send } from 'node:http'
import { addCleanup } from '../shared/cleanup.ts'
import { isReady } from '../shared/service.ts'

/** Milliseconds between two requests to `/readyz`. */
const interval = 100

export interface Balancer {
  port: number
  /** Errors of the requests that it forwarded. */
  readonly failures: string[]
  /** Whether it sends requests to this service. */
  has(port: number): boolean
  close(): Promise<void>
}

/** Distributes requests in turn to the services whose `/readyz` returns 200, like any load balancer. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const ready = new Set<number>()
  const failures: string[] = []
  let turn = 0
  const probe = async (port: number) => {
    if (await isReady(`http://127.0.0.1:${port}`)) ready.add(port)
    else ready.delete(port)
  }
  const watches = ports.map((port) => setInterval(() => void probe(port), interval))
  await Promise.all(ports.map(probe))
  const server = createServer((incoming, outgoing) => {
    const chosen = [...ready][turn++ % Math.max(1, ready.size)]
    const fail = (error: Error) => {
      failures.push(`${incoming.method} to ${chosen}: ${error.message}`)
      if (!outgoing.headersSent) outgoing.writeHead(502)
      outgoing.end()
    }
    if (chosen === undefined) {
      incoming.resume()
      fail(new Error('no service is ready'))
      return
    }
    const { method, url: path, headers } = incoming
    const forwarded = send({ agent, host: '127.0.0.1', port: chosen, method, path, headers }, (response) => {
      // These headers apply to one connection only, here that between balancer and service.
      const hop = new Set(['connection', 'keep-alive'])
      const headers = Object.entries(response.headers).filter(([name]) => !hop.has(name))
      outgoing.writeHead(response.statusCode ?? 502, Object.fromEntries(headers))
      response.pipe(outgoing)
    })
    forwarded.on('error', fail)
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    failures,
    has: (port) => ready.has(port),
    close: addCleanup(async () => {
      for (const watch of watches) clearInterval(watch)
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }),
  }
}
