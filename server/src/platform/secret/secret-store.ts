import type { Database } from '../database/database.ts'
import { sql } from '../model/sql.ts'

/** The fingerprint of the secret that this database was set up with: `own` when it is the first. */
export async function rememberedFingerprint(database: Database, own: string): Promise<string | undefined> {
  await database.spanning(
    'check the database',
    sql`insert into instance (name, value) values ('secret_fingerprint', ${own}) on conflict do nothing`,
  )
  const rows = await database.spanning<{ value: string }>(
    'check the database',
    sql`select value from instance where name = 'secret_fingerprint'`,
  )
  return rows[0]?.value
}
