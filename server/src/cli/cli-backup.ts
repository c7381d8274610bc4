import { dirname, resolve } from 'node:path'
import { Writable } from 'node:stream'
import { Command } from 'commander'
import { embeddedDatabaseExists } from '../platform/operations/embedded-postgres/data-folder.ts'
import { SnapshotError } from '../platform/operations/backup/format.ts'
import { recordLastBackup } from '../platform/operations/backup/last-backup.ts'
import { takeSnapshot, takeSnapshotFile } from '../platform/operations/backup/take.ts'
import { migrationsFolder, version } from '../release.ts'
import { megabytes, withBareDatabase } from './bare-database.ts'
import { printResult, configuration, Failure, printMessage, UsageError, withExample } from './command.ts'
import { formatCount, startProgress } from './progress.ts'

interface Options {
  force?: boolean
  verify?: boolean
  json?: boolean
}

/** `rapport backup`: writes a consistent snapshot of the database to one file. */
export const backupCommand = () =>
  withExample(
    new Command('backup')
      .description(
        'Write the whole database to one compressed file: a consistent snapshot, taken while the service can keep running. The file does not contain the secret: see docs/guides/backup.md.',
      )
      .argument('<file>', 'file to write; it appears when it is complete. Use - for standard output')
      .option('--force', 'replace an existing file')
      .option('--verify', 'read the file back and compare it with the database before it appears')
      .option('--json', 'print one JSON object: {"file", "bytes", "rows", "tables": {name: rows}, "takenAt"}')
      .action(run),
    '$ rapport backup /var/backups/rapport-$(date +%F).backup',
  )

async function run(name: string, { force = false, verify = false, json }: Options): Promise<void> {
  const config = configuration()
  const isPiped = name === '-'
  const file = isPiped ? 'standard output' : resolve(name)
  if (isPiped && (json || force || verify))
    throw new UsageError('--json, --force and --verify cannot be combined with standard output.')
  if (isPiped && process.stdout.isTTY)
    throw new UsageError('A backup cannot be written to a terminal. Name a file or use a pipe.')
  if (config.databaseUrl === undefined && !(await embeddedDatabaseExists(config.dataFolder))) {
    throw new Failure(`There is no database in ${config.dataFolder}. Set DATA_DIR or DATABASE_URL to the right one.`)
  }
  const backup = await withBareDatabase(config, 'rapport backup', async ({ connection, signal }) => {
    let progress: ReturnType<typeof startProgress> | undefined
    const onProgress = (done: number, total: number) => {
      progress ??= startProgress('Backing up', total, 'rows')
      progress.update(done)
    }
    const options = { connection, migrationsFolder, version: version(), onProgress, signal }
    const snapshot = isPiped
      ? await takeSnapshot(standardOutput(), options)
      : await takeSnapshotFile(file, { ...options, force, verify })
    await recordLastBackup(connection, {
      takenAt: snapshot.header.takenAt,
      folder: isPiped ? null : dirname(file),
    }).catch((error: Error) => printMessage(`The time of this backup could not be recorded: ${error.message}`))
    const written = verify ? 'Wrote and verified' : 'Wrote'
    progress?.end(`${written} ${formatCount(snapshot.rows)} rows to ${file} (${megabytes(snapshot.bytes)}).`)
    return snapshot
  })
  if (backup.otherTables.length > 0) {
    printMessage(`Skipped tables that do not belong to Rapport: ${backup.otherTables.join(', ')}.`)
  }
  const tables = Object.fromEntries(Object.entries(backup.sums.tables).map(([table, { rows }]) => [table, rows]))
  const { bytes, rows, header } = backup
  if (json) printResult(JSON.stringify({ file, bytes, rows, tables, takenAt: header.takenAt }))
  else if (!isPiped)
    printResult(
      `${file}\nIt contains personal data. A restore also needs the SECRET, which is not in it: store that too.`,
    )
}

/** Standard output, which stays open. If the reader goes away, the backup fails, not the process. */
function standardOutput(): Writable {
  const { stdout } = process
  stdout.on('error', () => undefined)
  const message = 'Standard output was closed before the end. The output is not a complete backup.'
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      stdout.write(chunk, (error) => done(error ? new SnapshotError(message, { cause: error }) : null))
    },
  })
}
