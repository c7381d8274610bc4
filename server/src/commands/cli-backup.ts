import { resolve } from 'node:path'
import { Command } from 'commander'
import { takeSnapshotFile } from '../platform/database/snapshot/take.ts'
import { migrationsFolder, version } from '../release.ts'
import { isEmbeddedMade, megabytes, withBareDatabase } from './bare-database.ts'
import { answer, configuration, Failure, tell, withExample } from './command.ts'
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
      .argument('<file>', 'the file to write; it appears when it is complete')
      .option('--force', 'replace the file when it is there')
      .option('--json', 'answer with one JSON object: {"file", "bytes", "rows", "tables": {name: rows}, "takenAt"}')
      .action(run),
    '$ rapport backup /var/backups/rapport-$(date +%F).backup',
  )

async function run(name: string, { force = false, json }: Options): Promise<void> {
  const config = configuration()
  const file = resolve(name)
  if (config.databaseUrl === undefined && !(await isEmbeddedMade(config.dataFolder))) {
    throw new Failure(`There is no database in ${config.dataFolder}. Set DATA_DIR or DATABASE_URL to the one you mean.`)
  }
  const taken = await withBareDatabase(config, 'rapport backup', async ({ connection }) => {
    let progress: ReturnType<typeof tellProgress> | undefined
    const onProgress = (done: number, total: number) => {
      progress ??= tellProgress('Backing up', total, 'rows')
      progress.at(done)
    }
    const made = await takeSnapshotFile(file, { connection, migrationsFolder, version: version(), force, onProgress })
    progress?.end(`${count(made.rows)} rows are in ${file} (${megabytes(made.bytes)}).`)
    return made
  })
  if (taken.others.length > 0) {
    tell(`Not in it, because Rapport did not make them: the tables ${taken.others.join(', ')}.`)
  }
  const tables = Object.fromEntries(Object.entries(taken.sums.tables).map(([table, { rows }]) => [table, rows]))
  const { bytes, rows, header } = taken
  if (json) answer(JSON.stringify({ file, bytes, rows, tables, takenAt: header.takenAt }))
  else answer(`${file}\nIt holds personal data. To be of use it needs its SECRET, which is not in it: keep that too.`)
}
