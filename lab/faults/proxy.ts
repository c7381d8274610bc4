import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { atEnd } from '../shared/cleanup.ts'

/** What happens to the connections between the service and its database. */
export type Harm = 'none' | 'delay' | 'reset' | 'half-open'

/** Milliseconds that a delayed byte is late, each way. */
const lateness = 300

/** A way to the database that can be harmed. */
export interface Proxy {
  port: number
  /** From now on; connections that once lost bytes stay lost. */
  harm(harm: Harm): void
  close(): Promise<void>
}

interface Way {
  client: Socket
  upstream: Socket
  /** Bytes vanish, both ways, and so does the farewell. */
  isLost: boolean
}

/** Listens on a port of this machine and passes everything on to a socket. */
export async function startProxy(socket: string): Promise<Proxy> {
  const ways = new Set<Way>()
  let harmed: Harm = 'none'
  const server = createServer((client) => {
    if (harmed === 'reset') {
      client.on('error', () => undefined)
      client.resetAndDestroy()
      return
    }
    const way: Way = { client, upstream: connect(socket), isLost: harmed === 'half-open' }
    ways.add(way)
    pass(way, way.client, way.upstream, () => harmed)
    pass(way, way.upstream, way.client, () => harmed)
    way.upstream.once('close', () => ways.delete(way))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    harm: (harm) => {
      harmed = harm
      if (harm === 'half-open') for (const way of ways) way.isLost = true
      if (harm !== 'reset') return
      for (const { client, upstream } of ways) {
        client.resetAndDestroy()
        upstream.destroy()
      }
    },
    close: atEnd(async () => {
      for (const { client, upstream } of ways) {
        client.destroy()
        upstream.destroy()
      }
      server.close()
      await once(server, 'close')
    }),
  }
}

function pass(way: Way, from: Socket, to: Socket, harm: () => Harm): void {
  /** The end of what is delayed: bytes keep their order. */
  let delayed = Promise.resolve()
  const forward = (act: () => void) => {
    const late = harm() === 'delay' ? lateness : 0
    delayed = delayed.then(async () => {
      if (late > 0) await new Promise((resolve) => setTimeout(resolve, late))
      if (!way.isLost) act()
    })
  }
  from.setNoDelay(true)
  from.on('data', (bytes) => forward(() => void to.write(bytes)))
  from.on('close', () => forward(() => void to.destroy()))
  from.on('error', () => undefined)
}
