import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { addCleanup } from '../shared/cleanup.ts'

/** What happens to the connections between the service and its database. */
export type Fault = 'none' | 'delay' | 'reset' | 'half-open'

/** Milliseconds that a delayed byte is late, each way. */
const delayMilliseconds = 300

/** A way to the database that can be harmed. */
export interface Proxy {
  port: number
  /** From now on; connections that once lost bytes stay lost. */
  inject(fault: Fault): void
  close(): Promise<void>
}

interface Link {
  client: Socket
  upstream: Socket
  /** Bytes vanish, both ways, and so does the farewell. */
  dropsData: boolean
}

/** Listens on a port of this machine and passes everything on to a socket. */
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
  /** The end of what is delayed: bytes keep their order. */
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
