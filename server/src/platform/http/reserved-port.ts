import { createServer, type Server } from 'node:http'
import { createServer as createNetServer, type Socket } from 'node:net'
import { newId, showId } from '../model/ids.ts'
import { ApiError } from '../model/errors.ts'
import { listenOn } from './listen.ts'
import { createSecurityHeaders } from './security-headers.ts'
import { version } from './version.ts'

/** A port that this process has, before it can serve: whoever asks meanwhile gets a 503. */
export interface ReservedPort {
  readonly port: number
  /** Lets `server` take the port over: its next `listen` listens here, whatever it is told. */
  handOverTo(server: Server): void
  /** Gives each new connection to `take`, unread; one that it does not take gets the 503. */
  passConnectionsTo(acceptConnection: (socket: Socket) => boolean): void
  /** Gives the port back unless a server has taken it over. */
  release(): void
}

/** Milliseconds that a caller may take to send what is refused. */
const requestTimeout = 15_000

/** Binds the port. Errors: those of listening, such as EADDRINUSE. */
export async function reservePort(port: number, host: string): Promise<ReservedPort> {
  const rejectingServer = createServer((_request, response) => {
    const refusal = new ApiError('overloaded', 'The service is starting. Try again in a moment.')
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'retry-after': '1',
      'x-request-id': showId('req', newId()),
      version,
      'cache-control': 'no-store',
      // The next request on the connection is for the server that takes the port over.
      connection: 'close',
      ...createSecurityHeaders(false),
    }
    response.writeHead(refusal.status, headers).end(JSON.stringify(refusal.body()))
  })
  let acceptConnection = (_socket: Socket): boolean => false
  // What it accepts may go to another process, so it reads nothing of it.
  const placeholder = createNetServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    if (acceptConnection(socket)) return
    socket.setTimeout(requestTimeout, () => socket.destroy())
    rejectingServer.emit('connection', socket)
    socket.resume()
  })
  const actual = await listenOn(placeholder, port, host)
  let isTaken = false
  return {
    port: actual,
    handOverTo: (server) => {
      const listen = server.listen.bind(server)
      server.listen = (): Server => {
        isTaken = true
        // Both use one socket from here on, so the placeholder is never closed.
        return listen(placeholder)
      }
    },
    passConnectionsTo: (other) => {
      acceptConnection = other
    },
    release: () => {
      if (!isTaken) placeholder.close()
    },
  }
}
