import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Command } from 'commander'
import type { Config } from '../config.ts'
import { fingerprint, loadSecret, secretFile } from '../platform/secret/secret.ts'
import { checkDatabase } from '../platform/database/check.ts'
import { connect } from '../platform/database/connect.ts'
import { migrate, readMigrations } from '../platform/database/migrate.ts'
import { findService } from './service-file.ts'
import { type CheckedSnapshot, SnapshotError } from '../platform/operations/backup/format.ts'
import { checkSnapshot } from '../platform/operations/backup/read.ts'
import { findAppliedMigrations, restoreSnapshot, type RestoreProgress } from '../platform/operations/backup/restore.ts'
import { tablesByPlace } from '../places.ts'
import { migrationsFolder } from '../release.ts'
import { beginNewFeeds } from '../feed/positions-store.ts'
import { type BareDatabase, megabytes, withBareDatabase } from './bare-database.ts'
import { printResult, configuration, Failure, printMessage, UsageError, withExample } from './command.ts'
import { formatCount, type Progress, startProgress } from './progress.ts'
import { promptLine } from './prompt.ts'
import { findExistingData, countServiceConnections } from './restore-target.ts'
import { compareSchema } from './schema.ts'
import { removeEncryptedData } from './encrypted-columns.ts'

interface Options {
  force?: boolean
  newSecret?: boolean
  json?: boolean
}

/** `rapport restore`: replaces the contents of the database with a backup. */
export const restoreCommand = () =>
  withExample(
    new Command('restore')
      .description(
        'Replace everything in the database with a backup. If the restore fails, nothing changes. Stop the service first.',
      )
      .argument('<file>', 'file that `rapport backup` has written')
      .option('--force', 'replace existing data without asking')
      .option(
        '--new-secret',
        'use if the SECRET of the backup is lost: deletes what it encrypted and ends all sessions, and restores the rest',
      )
      .option('--json', 'print one JSON object: {"rows", "takenAt", "applied": [migrations], "secretFits"}')
      .action(run),
    '$ rapport restore /var/backups/rapport-2027-01-31.backup',
  )

async function run(name: string, { force = false, newSecret = false, json }: Options): Promise<void> {
  const config = configuration()
  const file = resolve(name)
  const checked = await check(file)
  const secret = await compareSecret(config, checked, newSecret)
  await assertNoService(config)
  const applied = await withBareDatabase(config, 'rapport restore', async (database) => {
    await prepareTarget(config, database, force)
    return restore(file, database, { checked, newSecret })
  })
  const { takenAt } = checked.header
  if (secret === 'absent') printMessage(missingSecretMessage(config))
  if (json) printResult(JSON.stringify({ rows: checked.rows, takenAt, applied, secretFits: secret === 'fits' }))
  else printResult(`Restored ${formatCount(checked.rows)} rows from ${takenAt} and compared them with the backup.`)
}

/** Checks every byte of the file before anything is changed. */
async function check(file: string): Promise<CheckedSnapshot> {
  let progress: Progress | undefined
  try {
    const checked = await checkSnapshot(file, (done, total) => {
      progress ??= startProgress('Checking the file', Math.ceil(total / 1024), 'KiB')
      progress.update(Math.ceil(done / 1024))
    })
    findAppliedMigrations(checked.header, await readMigrations(migrationsFolder))
    const { rapport, takenAt, postgresql } = checked.header
    progress?.end(
      `${file} is complete: ${formatCount(checked.rows)} rows, ${megabytes(checked.bytes)}, written by Rapport ${rapport} on PostgreSQL ${postgresql} at ${takenAt}.`,
    )
    return checked
  } catch (error) {
    throw error instanceof SnapshotError ? new Failure(error.message, { cause: error }) : error
  }
}

/** Checked before anything is changed, because the service cannot start with a different secret. */
async function compareSecret(
  { dataFolder, secret: given }: Config,
  { header: { secretFingerprint } }: CheckedSnapshot,
  newSecret: boolean,
): Promise<'fits' | 'absent' | 'new'> {
  const file = join(dataFolder, secretFile)
  if (newSecret) return 'new'
  if (secretFingerprint === null) return 'fits'
  if (given === undefined && !(await stat(file).catch(() => undefined))) return 'absent'
  if (fingerprint(await loadSecret({ dataFolder, given })) === secretFingerprint) return 'fits'
  const where = given === undefined ? file : 'SECRET'
  throw new Failure(
    `The backup belongs to a different secret than the one in ${where}. Nothing was changed. Replace it with the secret of the installation that made the backup (its SECRET, or the file ${secretFile} in its data folder). If that is lost, --new-secret restores the rest, and everyone must log in again.`,
  )
}

const missingSecretMessage = ({ dataFolder }: Config): string =>
  `Before the next start, provide the backup’s secret: set SECRET, or copy the file ${secretFile} from its data folder to ${dataFolder}. If it is lost, restore again with --new-secret.`

async function assertNoService({ dataFolder }: Config): Promise<void> {
  const service = await findService(dataFolder)
  if (service) throw new Failure(stopFirst(`a service (process ${service.pid}) is running on ${dataFolder}`))
}

const stopFirst = (what: string): string =>
  `A restore replaces everything, and ${what}. Nothing was changed. Stop it first.`

async function prepareTarget(config: Config, database: BareDatabase, force: boolean): Promise<void> {
  const { connection, attached } = database
  if (attached) throw new Failure(stopFirst('a service is running on this database'))
  await checkDatabase(connection, config.databaseDurability)
  const { newer } = await compareSchema(connection)
  if (newer.length > 0) {
    throw new Failure(
      `The database belongs to a newer Rapport (it includes ${newer.join(', ')}). Nothing was changed. Restore into an empty database or another DATA_DIR.`,
    )
  }
  const client = await connect(connection)
  try {
    const assertNoConnections = async () => {
      const services = await countServiceConnections(client, connection)
      if (services > 0) throw new Failure(stopFirst(`${services} connections of services are open on this database`))
    }
    await assertNoConnections()
    const existingData = await findExistingData(client)
    if (existingData === undefined || force) return
    await confirmReplacement(config, existingData, database)
    // A service may have started while the question was open.
    await assertNoService(config)
    await assertNoConnections()
  } finally {
    await client.end()
  }
}

async function confirmReplacement(
  { databaseUrl, dataFolder }: Config,
  existingData: string,
  { signal }: BareDatabase,
): Promise<void> {
  const where = databaseUrl === undefined ? dataFolder : 'DATABASE_URL'
  const warning = `The database of ${where} contains ${existingData}. The restore replaces all of it.`
  if (!process.stdin.isTTY) throw new UsageError(`${warning} Use --force to confirm.`)
  const { stdin: input, stderr: output } = process
  const reply = await promptLine(`${warning} Type yes to continue: `, { input, output, signal })
  if (reply.trim().toLowerCase() !== 'yes') throw new Failure('Nothing was changed.')
}

/** Resolves to the migrations that were applied to a backup of an older Rapport. */
async function restore(
  file: string,
  { connection, signal }: BareDatabase,
  { checked, newSecret }: { checked: CheckedSnapshot; newSecret: boolean },
): Promise<string[]> {
  const { onProgress, end } = startStages()
  await restoreSnapshot(file, {
    connection,
    checked,
    migrationsFolder,
    onProgress,
    signal,
    finish: async (client) => {
      await beginNewFeeds(client)
      if (newSecret) await removeEncryptedData(client)
    },
  })
  end()
  const organizationTables = tablesByPlace.organization
  return (await migrate(connection, { folder: migrationsFolder, log: printMessage, organizationTables })).applied
}

/** Shows a progress bar for each stage of the restore. */
function startStages() {
  let current: { stage: string; progress: Progress } | undefined
  return {
    onProgress: ({ stage, done, total, unit, item: at }: RestoreProgress) => {
      if (current?.stage !== stage) current = { stage, progress: startProgress(stage, total, unit) }
      current.progress.update(done, at)
    },
    end: () => current?.progress.end('Restored and compared with the backup.'),
  }
}
