import { expect } from 'vitest'
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
  presences: ['session_id', 'tab'],
}

export const rowKey = (table: string, row: StoredRow): string =>
  (keys[table] ?? ['id']).map((name) => String(row[name])).join()

/** All rows of these tables, by table and key. */
export async function readTables(
  { client }: Pick<MaintenanceFixture, 'client'>,
  tables: readonly string[],
): Promise<Map<string, Map<string, StoredRow>>> {
  const texts = tables.map((table) => `select to_json(stored) as row from ${table} stored`)
  // One result for each of several statements.
  const results = (await client.query(texts.join(';\n'))) as unknown as { rows: { row: StoredRow }[] }[]
  return new Map(
    tables.map((table, index) => {
      const rows = results[index]?.rows ?? []
      return [table, new Map(rows.map(({ row }) => [rowKey(table, row), row]))]
    }),
  )
}

/** Makes records that are in their minute of grace younger, so that they do not expire during the next runs. */
export async function endGrace(
  { client }: Pick<MaintenanceFixture, 'client'>,
  tables: readonly string[],
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where table_schema = current_schema() and column_name = 'deleted_at' and table_name = any($1)`,
    [tables],
  )
  for (const { name } of rows) {
    await client.query(`update ${name} set deleted_at = now() - interval '29 days'
      where deleted_at between now() - interval '30 days 10 minutes' and now() - interval '30 days'`)
  }
}

/** Checks that the counts of each import match its rows. */
export async function expectAccurateCounts({ client }: Pick<MaintenanceFixture, 'client'>): Promise<void> {
  const { rows: actual } = await client.query(
    `select import_id, status, count(*)::int as count from import_rows group by 1, 2 order by 1, 2`,
  )
  const { rows: reported } = await client.query(
    `select import_id, status, sum(change)::int as count from import_row_counts group by 1, 2
     having sum(change) <> 0 order by 1, 2`,
  )
  expect(reported).toEqual(actual)
}
