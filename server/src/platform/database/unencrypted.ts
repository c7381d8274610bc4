import pg from 'pg'

/** The host and port that this connection reaches over a network without TLS; undefined if it does not. */
export function unencryptedHost(connection: pg.ClientConfig): { host: string; port: number } | undefined {
  try {
    // As `pg` reads it: any `sslmode` except `disable` requires TLS, without a fallback.
    const { host, port, ssl } = new pg.Client(connection)
    return host.startsWith('/') || ssl ? undefined : { host, port }
  } catch {
    // For example, a certificate cannot be read: connecting reports that.
    return undefined
  }
}
