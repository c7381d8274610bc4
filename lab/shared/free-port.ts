import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ephemeral ports: an outgoing connection could otherwise take the port, or connect to itself. */
const [first, last] = [15_000, 32_000]
const reserved = new Set<number>()

/** Returns a free port of this machine, a different one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * (last - first))
    if (reserved.has(port) || !(await isFree(port))) continue
    reserved.add(port)
    return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
