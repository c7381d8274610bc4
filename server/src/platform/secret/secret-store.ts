import type { Database } from '../database/database.ts'
import { sql } from '../model/sql.ts'

/** The fingerprint of the secret that this database was set up with; stores `own` if there is none yet. */
export async function storedFingerprint(database: Database, own: string): Promise<string | undefined> {
  await database.crossTenantQuery(
    'check the database',
    sql`insert into instance (name, value) values ('secret_fingerprint', ${own}) on conflict do nothing`,
  )
  const rows = await database.crossTenantQuery<{ value: string }>(
    'check the database',
    sql`select value from instance where name = 'secret_fingerprint'`,
  )
  return rows[0]?.value
}
