import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDatabase } from './postgres.ts'

/** A way to a test's database through which answers can be lost. */
export interface Cuttable {
  connection: TestDatabase['connection']
  /** Ends every connection. PostgreSQL does what it was told already before it notices; no answer comes back. */
  cut(): void
  /** Lets no answer come back on the connections that there are; what is asked on them is done all the same. */
  deafen(): void
  /** Ends every connection and refuses new ones, as a server that is away does, until it comes back. */
  leave(): void
  comeBack(): void
  close(): Promise<void>
}

export async function cuttable({ connection }: Pick<TestDatabase, 'connection'>): Promise<Cuttable> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-way-'))
  const nameOfSocket = `.s.PGSQL.${connection.port}`
  const ways = new Map<Socket, Socket>()
  let isAway = false
  const cut = () => {
    const lost = [...ways]
    ways.clear()
    for (const [client, upstream] of lost) {
      client.destroy()
      upstream.end()
    }
  }
  const server = createServer((client) => {
    if (isAway) {
      client.destroy()
      return
    }
    const upstream = connect(join(connection.host, nameOfSocket))
    ways.set(client, upstream)
    client.on('data', (data) => upstream.write(data))
    client.on('end', () => upstream.end())
    upstream.on('data', (data) => {
      if (ways.has(client)) client.write(data)
    })
    upstream.on('close', () => {
      ways.delete(client)
      client.destroy()
    })
    client.on('error', () => undefined)
    upstream.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(join(folder, nameOfSocket), resolve))
  return {
    connection: { ...connection, host: folder },
    cut,
    deafen: () => ways.clear(),
    leave: () => {
      isAway = true
      cut()
    },
    comeBack: () => {
      isAway = false
    },
    close: async () => {
      for (const upstream of ways.values()) upstream.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
