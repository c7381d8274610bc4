import pg from 'pg'

/** The host and port that this connection reaches over a network without TLS; undefined when it does not. */
export function unencryptedHost(connection: pg.ClientConfig): { host: string; port: number } | undefined {
  try {
    // As `pg` reads it: an `sslmode` other than `disable` makes it insist on TLS, without falling back.
    const { host, port, ssl } = new pg.Client(connection)
    return host.startsWith('/') || ssl ? undefined : { host, port }
  } catch {
    // A certificate that cannot be read, for one: whoever connects is told.
    return undefined
  }
}
