import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { UnusedConnections } from '../platform/http/limits/unused-connections.ts'

const pollInterval = 20

/** The connections of a worker process, which the primary accepts and hands over. */
export class HandedConnections {
  readonly #open = new Set<Socket>()
  readonly #unused = new UnusedConnections()
  #server: Server | undefined

  /** Passes connections to this server from now on. The server itself does not listen. */
  serve(server: Server): void {
    this.#server = server
    // On this event, the server of Node starts to enforce its request timeouts.
    server.emit('listening')
  }

  /** Takes over a connection as if the server had accepted it. */
  accept(socket: Socket): void {
    this.#open.add(socket)
    this.#unused.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    this.#server?.emit('connection', socket)
  }

  /** Waits for requests in progress and closes other connections. */
  async close(): Promise<void> {
    for (;;) {
      this.#server?.closeIdleConnections()
      this.#unused.close()
      if (this.#open.size === 0) return
      await delay(pollInterval)
    }
  }
}
