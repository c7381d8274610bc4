import { resolve } from 'node:path'
import { Writable } from 'node:stream'
import { Command } from 'commander'
import { isEmbeddedMade } from '../platform/database/data-folder.ts'
import { SnapshotError } from '../platform/database/snapshot/format.ts'
import { takeSnapshot, takeSnapshotFile } from '../platform/database/snapshot/take.ts'
import { migrationsFolder, version } from '../release.ts'
import { megabytes, withBareDatabase } from './bare-database.ts'
import { answer, configuration, Failure, tell, UsageError, withExample } from './command.ts'
import { count, tellProgress } from './progress.ts'

interface Options {
  force?: boolean
  json?: boolean
}

/** `rapport backup`: everything in the database, as it is at one moment, in one file. */
export const backupCommand = () =>
  withExample(
    new Command('backup')
      .description(
        'Write all that the database holds into one compressed file, as it is at one moment; the service may go on. The secret is not in it: see docs/guides/backup.md.',
      )
      .argument('<file>', 'the file to write; it appears when it is complete. - is standard output')
      .option('--force', 'replace the file when it is there')
      .option('--json', 'answer with one JSON object: {"file", "bytes", "rows", "tables": {name: rows}, "takenAt"}')
      .action(run),
    '$ rapport backup /var/backups/rapport-$(date +%F).backup',
  )

async function run(name: string, { force = false, json }: Options): Promise<void> {
  const config = configuration()
  const isPiped = name === '-'
  const file = isPiped ? 'standard output' : resolve(name)
  if (isPiped && (json || force)) throw new UsageError('Neither --json nor --force goes with standard output.')
  if (isPiped && process.stdout.isTTY)
    throw new UsageError('A backup is nothing for a terminal. Name a file, or a pipe.')
  if (config.databaseUrl === undefined && !(await isEmbeddedMade(config.dataFolder))) {
    throw new Failure(`There is no database in ${config.dataFolder}. Set DATA_DIR or DATABASE_URL to the one you mean.`)
  }
  const taken = await withBareDatabase(config, 'rapport backup', async ({ connection, signal }) => {
    let progress: ReturnType<typeof tellProgress> | undefined
    const onProgress = (done: number, total: number) => {
      progress ??= tellProgress('Backing up', total, 'rows')
      progress.at(done)
    }
    const options = { connection, migrationsFolder, version: version(), force, onProgress, signal }
    const made = isPiped ? await takeSnapshot(standardOutput(), options) : await takeSnapshotFile(file, options)
    progress?.end(`${count(made.rows)} rows are in ${file} (${megabytes(made.bytes)}).`)
    return made
  })
  if (taken.others.length > 0) {
    tell(`Not in it, because Rapport did not make them: the tables ${taken.others.join(', ')}.`)
  }
  const tables = Object.fromEntries(Object.entries(taken.sums.tables).map(([table, { rows }]) => [table, rows]))
  const { bytes, rows, header } = taken
  if (json) answer(JSON.stringify({ file, bytes, rows, tables, takenAt: header.takenAt }))
  else if (!isPiped)
    answer(`${file}\nIt holds personal data. To be of use it needs its SECRET, which is not in it: keep that too.`)
}

/** Standard output, which stays open: a reader that goes away is a fault of the backup, not of the process. */
function standardOutput(): Writable {
  const { stdout } = process
  stdout.on('error', () => undefined)
  const words = 'Whoever read standard output is gone. What was read is no backup.'
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      stdout.write(chunk, (error) => done(error ? new SnapshotError(words, { cause: error }) : null))
    },
  })
}
