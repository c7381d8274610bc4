import type { MaintenanceFixture } from './maintenance-fixture.ts'
import type { StoredRow } from './short-lived-rows.ts'

/** The key columns of tables whose key is not `id`. */
const keys: Readonly<Record<string, readonly string[]>> = {
  members: ['organization_id', 'user_id'],
  team_members: ['team_id', 'id'],
  contact_edits: ['contact_id'],
  company_edits: ['company_id'],
  contact_edited_values: ['contact_id'],
  company_edited_values: ['company_id'],
  import_push_keys: ['key_hash'],
  refused_senders: ['sender'],
  refused_push_counts: ['code'],
  import_pushed_bytes: ['import_id', 'slot'],
  idempotency_answers: ['key_hash'],
  import_triggers: ['hash'],
  import_secrets: ['hash'],
  one_time_tokens: ['hash'],
  spent_challenges: ['hash'],
  sso_steps: ['hash'],
  api_key_previous_hashes: ['hash'],
}

export const rowKey = (table: string, row: StoredRow): string =>
  (keys[table] ?? ['id']).map((name) => String(row[name])).join()

/** All rows of a table, by key. */
export async function readTable(
  { client }: Pick<MaintenanceFixture, 'client'>,
  table: string,
): Promise<Map<string, StoredRow>> {
  const { rows } = await client.query<{ row: StoredRow }>(`select to_json(stored) as row from ${table} stored`)
  return new Map(rows.map(({ row }) => [rowKey(table, row), row]))
}
