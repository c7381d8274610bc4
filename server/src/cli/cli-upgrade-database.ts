import { Command } from 'commander'
import { embeddedDatabaseExists } from '../platform/operations/embedded-postgres/data-folder.ts'
import { openEmbedded } from '../platform/operations/embedded-postgres/embedded.ts'
import { migrationsFolder, version } from '../release.ts'
import { printResult, configuration, Failure, printMessage, UsageError, withExample } from './command.ts'
import { interruptible } from './interruptible.ts'

interface Options {
  oldBinaries?: string
}

/** `rapport upgrade-database`: moves the embedded database to the PostgreSQL of this version. */
export const upgradeDatabaseCommand = () =>
  withExample(
    new Command('upgrade-database')
      .description(
        'Move the embedded database from another PostgreSQL to the one included in this version or to that of POSTGRES_BINARIES. The old database stays in the data folder. A start does this automatically if it finds the older PostgreSQL.',
      )
      .option(
        '--old-binaries <folder>',
        'folder of the older PostgreSQL: the folder that contains bin/postgres, or its npm package',
      )
      .action(run),
    '$ rapport upgrade-database --old-binaries /opt/postgres-17',
  )

async function run({ oldBinaries }: Options): Promise<void> {
  const { databaseUrl, dataFolder, postgresBinaries: binaries } = configuration()
  if (databaseUrl !== undefined) throw new UsageError('DATABASE_URL is set, so there is no embedded database to move.')
  if (!(await embeddedDatabaseExists(dataFolder))) {
    throw new Failure(`There is no database in ${dataFolder}. Set DATA_DIR to the right folder.`)
  }
  const upgrade = { migrationsFolder, version: version(), oldBinaries }
  await interruptible(async (signal) => {
    const embedded = await openEmbedded({
      dataFolder,
      purpose: 'rapport upgrade-database',
      log: printMessage,
      upgrade,
      binaries,
      signal,
    })
    await embedded.close()
    if (embedded.attached) {
      throw new Failure(`A service is running on the database of ${dataFolder}. Nothing was changed. Stop it first.`)
    }
  })
  printResult('The database already uses the PostgreSQL of this version.')
}
