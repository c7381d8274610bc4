import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDatabase } from './postgres.ts'

/** A proxy for connections to a test's database, which can lose responses. */
export interface ConnectionProxy {
  connection: TestDatabase['connection']
  /** Ends every connection. PostgreSQL still runs the statements that it received; their responses are lost. */
  dropConnections(): void
  /** Drops all responses on the open connections; PostgreSQL still runs their statements. */
  dropResponses(): void
  /** Ends every connection and refuses new ones, like a stopped server, until `goOnline`. */
  goOffline(): void
  goOnline(): void
  /** The connections that it has refused. */
  refused(): number
  close(): Promise<void>
}

export async function startConnectionProxy({ connection }: Pick<TestDatabase, 'connection'>): Promise<ConnectionProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-proxy-'))
  const nameOfSocket = `.s.PGSQL.${connection.port}`
  const upstreams = new Map<Socket, Socket>()
  let isOffline = false
  let refused = 0
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
      refused++
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
    refused: () => refused,
    close: async () => {
      for (const upstream of upstreams.values()) upstream.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
