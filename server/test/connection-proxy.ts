import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDatabase } from './postgres.ts'

/** A way to a test's database through which answers can be lost. */
export interface ConnectionProxy {
  connection: TestDatabase['connection']
  /** Ends every connection. PostgreSQL does what it was told already before it notices; no answer comes back. */
  dropConnections(): void
  /** Lets no answer come back on the connections that there are; what is asked on them is done all the same. */
  dropResponses(): void
  /** Ends every connection and refuses new ones, as a server that is away does, until it comes back. */
  goOffline(): void
  goOnline(): void
  close(): Promise<void>
}

export async function startConnectionProxy({ connection }: Pick<TestDatabase, 'connection'>): Promise<ConnectionProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-way-'))
  const nameOfSocket = `.s.PGSQL.${connection.port}`
  const upstreams = new Map<Socket, Socket>()
  let isOffline = false
  const dropConnections = () => {
    const lost = [...upstreams]
    upstreams.clear()
    for (const [client, upstream] of lost) {
      client.destroy()
      upstream.end()
    }
  }
  const server = createServer((client) => {
    if (isOffline) {
      client.destroy()
      return
    }
    const upstream = connect(join(connection.host, nameOfSocket))
    upstreams.set(client, upstream)
    client.on('data', (data) => upstream.write(data))
    client.on('end', () => upstream.end())
    upstream.on('data', (data) => {
      if (upstreams.has(client)) client.write(data)
    })
    upstream.on('close', () => {
      upstreams.delete(client)
      client.destroy()
    })
    client.on('error', () => undefined)
    upstream.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(join(folder, nameOfSocket), resolve))
  return {
    connection: { ...connection, host: folder },
    dropConnections,
    dropResponses: () => upstreams.clear(),
    goOffline: () => {
      isOffline = true
      dropConnections()
    },
    goOnline: () => {
      isOffline = false
    },
    close: async () => {
      for (const upstream of upstreams.values()) upstream.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
