import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Milliseconds after which a connection is not about to send its first request. */
const grace = 1000
const pollInterval = 50

/** The connections of a server that have not sent anything yet. */
export class UnusedConnections {
  readonly #openedAt = new Map<Socket, number>()

  add(socket: Socket): void {
    this.#openedAt.set(socket, performance.now())
    socket.once('close', () => this.#openedAt.delete(socket))
  }

  /** Browsers open connections in advance. Node waits for their first request as for one in progress. */
  close(): void {
    const now = performance.now()
    for (const [socket, openedAt] of this.#openedAt)
      if (socket.bytesRead === 0 && now - openedAt > grace) socket.destroy()
  }
}

/** Lets a closing server not wait for connections that nobody uses. */
export function closeUnusedConnections(app: FastifyInstance): void {
  const connections = new UnusedConnections()
  app.server.on('connection', (socket: Socket) => connections.add(socket))
  app.addHook('preClose', (done) => {
    const timer = setInterval(() => connections.close(), pollInterval).unref()
    app.server.once('close', () => clearInterval(timer))
    done()
  })
}
