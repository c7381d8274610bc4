import pg from 'pg'

/** A single connection that outlives its own faults: an idle client's unheard `error` would end the process. */
export async function connect(connection: pg.ClientConfig, timeout = 10_000): Promise<pg.Client> {
  const client = new pg.Client({ ...connection, connectionTimeoutMillis: Math.ceil(timeout) })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    // Not awaited: the farewell to a frozen server would never end.
    client.end().catch(() => undefined)
    throw error
  }
}

/** The words of `pg` for a server that took the connection and stays silent. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout expired'
