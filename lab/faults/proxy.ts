import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { addCleanup } from '../shared/cleanup.ts'

/** A fault of the connections between service and database. */
export type Fault = 'none' | 'delay' | 'reset' | 'half-open'

/** Delay in each direction. */
const delayMilliseconds = 300

/** A proxy to the database that injects faults. */
export interface Proxy {
  port: number
  /** Applies from now on. Connections that have lost data never work again. */
  inject(fault: Fault): void
  close(): Promise<void>
}

interface Link {
  client: Socket
  upstream: Socket
  /** Silently drops data and closes in both directions. */
  dropsData: boolean
}

/** Listens on a local port and forwards all data to a socket. */
export async function startProxy(socket: string): Promise<Proxy> {
  const links = new Set<Link>()
  let current: Fault = 'none'
  const server = createServer((client) => {
    if (current === 'reset') {
      client.on('error', () => undefined)
      client.resetAndDestroy()
      return
    }
    const link: Link = { client, upstream: connect(socket), dropsData: current === 'half-open' }
    links.add(link)
    relay(link, link.client, link.upstream, () => current)
    relay(link, link.upstream, link.client, () => current)
    link.upstream.once('close', () => links.delete(link))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    inject: (fault) => {
      current = fault
      if (fault === 'half-open') for (const link of links) link.dropsData = true
      if (fault !== 'reset') return
      for (const { client, upstream } of links) {
        client.resetAndDestroy()
        upstream.destroy()
      }
    },
    close: addCleanup(async () => {
      for (const { client, upstream } of links) {
        client.destroy()
        upstream.destroy()
      }
      server.close()
      await once(server, 'close')
    }),
  }
}

function relay(link: Link, from: Socket, to: Socket, fault: () => Fault): void {
  /** Resolves after all delayed data, which preserves the order. */
  let delayed = Promise.resolve()
  const forward = (deliver: () => void) => {
    const wait = fault() === 'delay' ? delayMilliseconds : 0
    delayed = delayed.then(async () => {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
      if (!link.dropsData) deliver()
    })
  }
  from.setNoDelay(true)
  from.on('data', (bytes) => forward(() => void to.write(bytes)))
  from.on('close', () => forward(() => void to.destroy()))
  from.on('error', () => undefined)
}
