import type pg from 'pg'
import { connect } from '../../database/connect.ts'

/** Name of the entry in the table `instance`. */
export const lastBackupName = 'last_backup'

/** The latest complete backup of a database. */
export interface LastBackup {
  /** ISO 8601: the time of the snapshot. */
  takenAt: string
  /** Folder of the file; null for standard output. */
  folder: string | null
}

/** Records a complete backup in the database itself, so that its age can be reported. */
export async function recordLastBackup(connection: pg.ClientConfig, backup: LastBackup): Promise<void> {
  const client = await connect({ ...connection, application_name: 'rapport backup', statement_timeout: 10_000 })
  try {
    await client.query(
      'insert into instance (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value',
      [lastBackupName, JSON.stringify(backup)],
    )
  } finally {
    await client.end()
  }
}

export const readLastBackup = (text: string): LastBackup => JSON.parse(text) as LastBackup
