import { createServer, type Server } from 'node:http'
import { createServer as createNetServer, type Socket } from 'node:net'
import { newId, encodeId } from '../../model/ids.ts'
import { ApiError } from '../../model/errors.ts'
import { errorPage, wantsPage } from './html.ts'
import { listenOn } from '../listen.ts'
import { createSecurityHeaders } from '../protocol/security-headers.ts'
import { version } from '../protocol/version.ts'

/** A port that is bound before the service can use it: callers get a 503 meanwhile. */
export interface ReservedPort {
  readonly port: number
  /** Hands the port over to `server`: its next `listen` uses this socket, whatever its arguments. */
  handOverTo(server: Server): void
  /** Passes each new connection, unread, to `accept`; connections for which it returns false get the 503. */
  passConnectionsTo(acceptConnection: (socket: Socket) => boolean): void
  /** Releases the port unless a server has taken it over. */
  release(): void
}

/** Milliseconds for a caller to send its request, which is then rejected. */
const requestTimeout = 15_000

/** Binds the port. Throws errors of `listen`, such as EADDRINUSE. */
export async function reservePort(port: number, host: string): Promise<ReservedPort> {
  const rejectingServer = createServer((request, response) => {
    const apiError = new ApiError('overloaded', 'The service is starting. Try again in a moment.')
    const requestId = encodeId('req', newId())
    const json = {
      text: JSON.stringify(apiError.body()),
      headers: { 'content-type': 'application/json; charset=utf-8' },
    }
    const isPage = wantsPage(request)
    const { text, headers: bodyHeaders } = isPage ? errorPage(apiError, { requestId, home: '/' }) : json
    const headers = {
      'retry-after': '1',
      'x-request-id': requestId,
      version,
      'cache-control': 'no-store',
      // The next request on this connection belongs to the server that takes over the port.
      connection: 'close',
      ...createSecurityHeaders(false),
      ...bodyHeaders,
      ...(isPage && { refresh: '2' }),
    }
    response.writeHead(apiError.status, headers).end(text)
  })
  let acceptConnection = (_socket: Socket): boolean => false
  // An accepted connection may be passed to another process, so nothing is read from it.
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
        // From here on both use one socket, so the placeholder is never closed.
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
