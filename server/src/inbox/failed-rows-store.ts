import type { Transaction } from '../platform/database/database.ts'
import { sql } from '../platform/model/sql.ts'
import { addEntries } from './entries-store.ts'

/**
 * Adds an entry for the person who created the import of each of these failed rows (uuids): one a day for an import, however
 * many rows fail. In the transaction in which they fail.
 */
export async function reportFailedRows(transaction: Transaction, rowIds: readonly string[]): Promise<void> {
  const { organization } = transaction
  const found = await transaction.query<{ importId: string; userId: string; key: string }>(sql`
    select import.id as "importId", import.created_by_id as "userId", failed.key
    from (
      select distinct import_id, 'import ' || import_id || ' ' || to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as key
      from import_rows where organization_id = ${organization} and id = any(${rowIds}::uuid[])) failed
    join imports import on import.organization_id = ${organization} and import.id = failed.import_id
    where import.created_by_id is not null and not exists (
      select from inbox_entries known where known.organization_id = ${organization}
        and known.user_id = import.created_by_id and known.key = failed.key)`)
  await addEntries(
    transaction,
    found.map(({ importId, ...entry }) => ({
      ...entry,
      kind: 'importFailed',
      resource: 'imports',
      recordId: importId,
      authorId: null,
    })),
  )
}
