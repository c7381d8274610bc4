import type { Server } from 'node:net'

/** Starts listening and resolves to the port. Throws errors of `listen`, such as EADDRINUSE. */
export function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
    server.listen(port, host)
  })
}
