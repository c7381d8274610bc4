import type { Server } from 'node:net'

/** Listens, and resolves to the port. Errors: those of listening, such as EADDRINUSE. */
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
