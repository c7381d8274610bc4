import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Milliseconds between two looks for connections that have become idle. */
const pollInterval = 20

/** The connections of a worker process: the primary accepts them and hands them over. */
export class HandedConnections {
  readonly #open = new Set<Socket>()
  #server: Server | undefined

  /** Gives the connections to this server from now on, which does not listen itself. */
  serve(server: Server): void {
    this.#server = server
    // With this event Node's server starts to watch for requests that take too long to arrive.
    server.emit('listening')
  }

  /** Takes one over, as if the server itself had accepted it. */
  accept(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    socket.allowHalfOpen = true
    socket.setNoDelay(true)
    this.#server?.emit('connection', socket)
  }

  /** Waits until the requests under way have their answers, and closes idle connections. */
  async close(): Promise<void> {
    for (;;) {
      this.#server?.closeIdleConnections()
      if (this.#open.size === 0) return
      await delay(pollInterval)
    }
  }
}
