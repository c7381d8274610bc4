import type pg from 'pg'
import { lastBackupName, readLastBackup } from '../platform/operations/backup/last-backup.ts'
import type { Finding } from './finding.ts'

const day = 24 * 60 * 60 * 1000

/** Days after which nightly backups must have failed. */
const maxAge = 2

/** Reports the latest backup that `rapport backup` has made. */
export async function examineBackup(client: pg.Client): Promise<Finding> {
  const name = 'backup'
  const { rows } = await client.query<{ value: string }>('select value from instance where name = $1', [lastBackupName])
  const [row] = rows
  if (!row) {
    const advice = 'Run `rapport backup` every night (docs/guides/backup.md), unless you back up in another way.'
    return { name, state: 'note', message: '`rapport backup` has not backed up this database yet', advice }
  }
  const { takenAt, folder } = readLastBackup(row.value)
  const message = `the latest is of ${takenAt}, ${folder === null ? 'to standard output' : `in ${folder}`}`
  const days = Math.floor((Date.now() - Date.parse(takenAt)) / day)
  if (days < maxAge) return { name, state: 'ok', message }
  const advice = `It is ${days} days old. See why the job that runs \`rapport backup\` fails (docs/guides/backup.md), and run it now.`
  return { name, state: 'wrong', message, advice }
}
