import { lastBackupName, readLastBackup } from '../../platform/operations/backup/last-backup.ts'
import type { Connection, Database } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'

/**
 * Whether the organization of the request is the first one of the installation, which belongs to the operator. Ids sort
 * by creation time.
 */
export async function isFirstOrganization(db: Connection): Promise<boolean> {
  const [row] = await db.query<{ isFirst: boolean }>(
    sql`select id = ${db.organization} as "isFirst" from organizations order by id limit 1`,
  )
  return row?.isFirst ?? false
}

export interface DatabaseState {
  version: string
  sizeBytes: number
  backup: { lastAt: string | null; folder: string | null }
}

/** The state of the database of this installation. */
export async function readDatabaseState(database: Database): Promise<DatabaseState> {
  const [row] = await database.crossTenantQuery<{ version: string; size: number; backup: string | null }>(
    'show the state of the system',
    sql`select current_setting('server_version') as version,
        ${raw(database.engine.sizeSql)}::float8 as size,
        (select value from instance where name = ${lastBackupName}) as backup`,
  )
  if (!row) throw new Error('the statement always returns one row')
  const last = row.backup === null ? undefined : readLastBackup(row.backup)
  const backup = { lastAt: last?.takenAt ?? null, folder: last?.folder ?? null }
  return { version: row.version, sizeBytes: row.size, backup }
}
