import pg from 'pg'

/** Opens one connection. An unhandled `error` event of an idle client would end the process. */
export async function connect(connection: pg.ClientConfig, timeout = 10_000): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: Math.ceil(timeout) })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    // Not awaited: a graceful close would never finish on a frozen server.
    client.end().catch(() => undefined)
    throw error
  }
}

/** The error that `pg` throws for a server that accepts the connection and never responds. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout expired'
