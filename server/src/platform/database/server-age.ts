import type pg from 'pg'
import { describeAge } from './security-rounds.ts'
import { connect } from './connect.ts'

/** What the server's version lacks, in a sentence; undefined if that is unknown or nothing. */
export async function describeServerAge(connection: pg.ClientConfig): Promise<string | undefined> {
  const client = await connect(connection)
  try {
    const { rows } = await client.query<{ version: string }>(`select current_setting('server_version') as version`)
    return describeAge(rows[0]?.version ?? '', new Date())
  } finally {
    await client.end()
  }
}
