import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'

/** Locks a row of the installation until the transaction ends; other transactions wait and then see its changes. */
export async function lockInstance(
  db: CrossTenantConnection,
  name: 'set-up' | 'signing keys' | 'push key',
): Promise<void> {
  await db.query(sql`
    insert into instance (name, value) values (${`lock: ${name}`}, '')
    on conflict (name) do update set value = excluded.value`)
}
