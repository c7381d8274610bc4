import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { connect } from '../../database/connect.ts'
import { Interrupted } from '../../database/interrupted.ts'
import { isConnectionLoss } from '../../database/failures.ts'
import { isFromBeforeFirstRelease, unreleasedBackup } from '../../database/first-release.ts'
import { changeCoordinatorOnly, pendingKeys } from '../../database/distribution/distribute.ts'
import { dropIndexes, recreateIndexes } from '../../database/dropped-indexes.ts'
import { migrationLockKey, type Migration, readMigrations } from '../../database/migrate.ts'
import { namesCreatedBy, quoteIdentifier, readCatalog } from './catalog.ts'
import {
  type CheckedSnapshot,
  SnapshotError,
  type SnapshotHeader,
  type SnapshotTable,
  trailerLength,
} from './format.ts'
import { SnapshotReader } from './read.ts'
import { RowSum } from './row-sum.ts'
import { dropSchema, createSchema } from './schema.ts'
import { copyRows, sessionSettings } from './take.ts'

export interface RestoreOptions {
  connection: pg.ClientConfig
  checked: CheckedSnapshot
  migrationsFolder: string
  onProgress?: (progress: RestoreProgress) => void
  /** More work for the end of the same transaction. */
  finish?: (client: pg.Client) => Promise<void>
  /** Interrupts the restore, until the commit begins. */
  signal?: AbortSignal | undefined
}

export interface RestoreProgress {
  stage: 'Restoring' | 'Comparing' | 'Building'
  done: number
  total: number
  unit: string
  /** The current table, index or constraint. */
  item: string
}

type OnProgress = (progress: RestoreProgress) => void

/** Replaces data and schema in one transaction; run `migrate` next. Throws `SnapshotError` or `Interrupted`. */
export async function restoreSnapshot(file: string, options: RestoreOptions): Promise<void> {
  const { connection, checked, migrationsFolder, signal } = options
  const migrations = await readMigrations(migrationsFolder)
  const applied = findAppliedMigrations(checked.header, migrations)
  const client = await connect({ ...connection, keepAlive: true, application_name: 'rapport restore' })
  const interrupt = () => client.connection.stream.destroy()
  signal?.addEventListener('abort', interrupt)
  let isCommitting = false
  try {
    if (signal?.aborted) interrupt()
    await client.query(`${sessionSettings}; ${indexBuildMemory}`)
    await detectClientLoss(client)
    await client.query('begin')
    await lockMigrations(client)
    await dropSchema(client, namesCreatedBy(migrations).add(pendingKeys))
    await changeCoordinatorOnly(client, true)
    await createSchema(client, applied)
    await assertSameTables(client, checked.header, applied)
    await fillTables(client, file, options)
    // From here on it cannot be undone.
    signal?.removeEventListener('abort', interrupt)
    isCommitting = true
    await client.query('commit')
  } catch (error) {
    throw explainError(error, { isCommitting, isInterrupted: signal?.aborted ?? false })
  } finally {
    signal?.removeEventListener('abort', interrupt)
    // Not a graceful close: after an error a copy may be half done. The server rolls back.
    client.connection.stream.destroy()
  }
}

/** Explains what a lost connection means; returns other errors unchanged. */
function explainError(
  error: unknown,
  { isCommitting, isInterrupted }: { isCommitting: boolean; isInterrupted: boolean },
) {
  if (isCommitting && isConnectionLoss(error)) {
    return new SnapshotError(
      'The connection was lost at the very end. The database is either unchanged or completely restored; its newest records show which. To be sure, restore again.',
      { cause: error },
    )
  }
  if (isInterrupted && !isCommitting) return new Interrupted('Interrupted: nothing was changed.', { cause: error })
  return error
}

async function fillTables(
  client: pg.Client,
  file: string,
  { checked, finish, onProgress = () => undefined }: RestoreOptions,
) {
  const tables = checked.header.tables.map(({ name }) => quoteIdentifier(name))
  const dropped = await dropIndexes(client, tables, { keys: true })
  // Disable our own triggers: their effects are already in the rows.
  for (const table of tables) await client.query(`alter table ${table} disable trigger user`)
  // A migration may have inserted rows.
  await client.query(`truncate ${tables.join(', ')}`)
  await loadRows(client, file, checked, onProgress)
  await compareRows(client, checked, onProgress)
  const total = dropped.length
  await recreateIndexes(client, dropped, (done, item) =>
    onProgress({ stage: 'Building', done, total, unit: 'indexes and constraints', item }),
  )
  for (const table of tables) await client.query(`alter table ${table} enable trigger user; analyze ${table}`)
  await finish?.(client)
}

/** The migrations that created the snapshot's schema. Error: `SnapshotError`. */
export function findAppliedMigrations(
  { migrations: theirs, rapport }: SnapshotHeader,
  ours: readonly Migration[],
): Migration[] {
  const [applied, schema] = [theirs.map(({ name }) => name), ours.map(({ file }) => file)]
  if (isFromBeforeFirstRelease(applied, schema)) throw new SnapshotError(unreleasedBackup)
  return theirs.map(({ version, name, checksum }) => {
    const known = ours.find((migration) => migration.version === version)
    if (!known) {
      throw new SnapshotError(
        `The backup was made by a newer Rapport (${rapport}; it includes ${name}). Nothing was changed. Restore it with that version.`,
      )
    }
    if (known.checksum !== checksum) {
      throw new SnapshotError(
        `The backup was made by a Rapport whose ${name} differs from this version’s. Nothing was changed. Restore it with the version that made it (${rapport}).`,
      )
    }
    return known
  })
}

/** Memory for building indexes: 128 MB, or the server's setting if that is larger. */
const indexBuildMemory = `select set_config('maintenance_work_mem',
  greatest(pg_size_bytes('128MB'), pg_size_bytes(current_setting('maintenance_work_mem'))) / 1024 || 'kB', false)`

/** Without this, the server of a killed restore would keep building indexes. Not every platform supports it. */
const detectClientLoss = (client: pg.Client) =>
  client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)

/** A service that starts during the restore waits, as for a migration. */
async function lockMigrations(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) locked', [
    migrationLockKey,
  ])
  if (rows[0]?.locked) return
  throw new SnapshotError(
    'Another process is migrating or restoring this database. Nothing was changed. Try again later.',
  )
}

/** Only names that our own migrations created become part of a statement. */
async function assertSameTables(
  client: pg.Client,
  { tables, rapport }: SnapshotHeader,
  applied: readonly Migration[],
): Promise<void> {
  const actual = await readCatalog(client, namesCreatedBy(applied))
  const describeTables = (list: readonly { name: string; columns: readonly string[] }[]) =>
    list.map(({ name, columns }) => `${name} (${columns.toSorted().join(', ')})`).toSorted()
  const [theirs, ours] = [describeTables(tables), describeTables(actual.tables)]
  const differing = [
    ...theirs.filter((table) => !ours.includes(table)),
    ...ours.filter((table) => !theirs.includes(table)),
  ]
  if (differing.length === 0) return
  throw new SnapshotError(
    `The tables of the backup differ from those of Rapport ${rapport}: ${differing.join('; ')}. Nothing was changed.`,
  )
}

async function loadRows(
  client: pg.Client,
  file: string,
  { header, bytes }: CheckedSnapshot,
  onProgress: OnProgress,
): Promise<void> {
  const kibibytes = (number: number) => Math.ceil(number / 1024)
  let [done, item] = [0, '']
  const onChunk = (chunk: Buffer) => {
    done += chunk.length
    onProgress({ stage: 'Restoring', done: kibibytes(done), total: kibibytes(bytes), unit: 'KiB', item })
  }
  const reader = new SnapshotReader(file, { length: bytes - trailerLength, onChunk })
  try {
    await reader.header()
    for await (const { name, columns, rows } of reader.tables(header)) {
      item = name
      // Frozen: the table was created in this transaction, so no other transaction can miss its rows, and vacuum can
      // skip them.
      const text = `copy ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) from stdin with (freeze)`
      await pipeline(rows, client.query(copyFrom(text)))
    }
  } finally {
    reader.close()
  }
}

async function compareRows(client: pg.Client, { header, sums, rows: total }: CheckedSnapshot, onProgress: OnProgress) {
  let done = 0
  for (const table of header.tables) {
    const report = (rows: number) =>
      onProgress({ stage: 'Comparing', done: done + rows, total, unit: 'rows', item: table.name })
    report(0)
    const found = await computeTableSum(client, table, report)
    done += found.rows
    const expected = sums.tables[table.name]
    if (found.rows === expected?.rows && found.sha256 === expected.sha256) continue
    throw new SnapshotError(
      `After the load the table ${table.name} differs from the backup (${found.rows} rows, ${expected?.rows} expected). Nothing was changed.`,
    )
  }
}

async function computeTableSum(client: pg.Client, table: SnapshotTable, onRows: (rows: number) => void) {
  const sum = new RowSum()
  for await (const chunk of copyRows(client, table)) {
    sum.add(chunk)
    onRows(sum.rows)
  }
  return sum.result()
}
