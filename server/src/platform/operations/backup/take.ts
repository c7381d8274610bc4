import { createHash } from 'node:crypto'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { connect } from '../../database/connect.ts'
import { syncFolder } from '../../files/durable.ts'
import { explainFileError } from '../../files/explain.ts'
import { Interrupted } from '../../database/interrupted.ts'
import { isFromBeforeFirstRelease, unreleasedDatabase } from '../../database/first-release.ts'
import { readMigrations } from '../../database/migrate.ts'
import { withPausedDirectory } from '../../database/distribution/paused-directory.ts'
import { type Catalog, namesCreatedBy, quoteIdentifier, readCatalog } from './catalog.ts'
import {
  type AppliedMigration,
  type CheckedSnapshot,
  compression,
  endOfRows,
  SnapshotError,
  type SnapshotHeader,
  type SnapshotSums,
  formatHeader,
  trailer,
} from './format.ts'
import { checkSnapshot } from './read.ts'
import { RowSum } from './row-sum.ts'

export interface SnapshotOptions {
  connection: pg.ClientConfig
  /** The migrations define which tables belong to Rapport. */
  migrationsFolder: string
  version: string
  /** Reports the rows written and the total according to the statistics. */
  onProgress?: (done: number, total: number) => void
  signal?: AbortSignal | undefined
}

export interface TakenSnapshot extends CheckedSnapshot {
  /** Tables that do not belong to Rapport and were left out. */
  otherTables: string[]
}

export interface SnapshotFileOptions extends SnapshotOptions {
  /** Replaces an existing file. */
  force?: boolean
  /** Reads the file back and compares it with what was written. */
  verify?: boolean
}

/** Writes a snapshot to a file, which appears complete or not at all. Throws `SnapshotError` or `Interrupted`. */
export async function takeSnapshotFile(
  file: string,
  { force = false, verify = false, ...options }: SnapshotFileOptions,
): Promise<TakenSnapshot> {
  const assertMayWrite = async () => {
    if (force || !(await exists(file))) return
    throw new SnapshotError(`${file} already exists. Choose another name, or use --force to replace it.`)
  }
  await assertMayWrite()
  const partFile = `${file}.part`
  const handle = await createPartFile(partFile, file)
  // A backup that starts later takes over the file name.
  const ownsPartFile = async () => (await stat(partFile).catch(() => undefined))?.ino === (await handle.stat()).ino
  try {
    const taken = await takeSnapshot(createWriter(handle), options)
    await handle.sync()
    if (!(await ownsPartFile())) {
      throw new SnapshotError(`This backup was stopped because another one to ${file} has started.`)
    }
    if (verify) await readBack(partFile, file, { taken, signal: options.signal })
    await assertMayWrite()
    await rename(partFile, file)
    await syncFolder(dirname(file))
    return taken
  } catch (error) {
    if (await ownsPartFile()) await rm(partFile, { force: true })
    throw unwritable(file, error) ?? error
  } finally {
    await handle.close()
  }
}

async function createPartFile(partFile: string, file: string): Promise<FileHandle> {
  try {
    await rm(partFile, { force: true })
    return await open(partFile, 'wx', 0o600)
  } catch (error) {
    throw unwritable(file, error) ?? error
  }
}

function unwritable(file: string, error: unknown): SnapshotError | undefined {
  const why = explainFileError(error)
  if (why === undefined) return undefined
  const { code } = error as NodeJS.ErrnoException
  return new SnapshotError(`${file} cannot be written (${code}): ${why}`, { cause: error })
}

/** Checks every byte of the written file, and that it contains the rows that the database sent. */
async function readBack(
  partFile: string,
  file: string,
  { taken, signal }: { taken: TakenSnapshot; signal: AbortSignal | undefined },
): Promise<void> {
  const failed = (cause?: unknown) =>
    new SnapshotError(
      `The backup was written to ${file}, but reading it back returned something else. It was deleted. Check the disk (\`dmesg\`), and back up to another one.`,
      { cause },
    )
  const read = await checkSnapshot(partFile, undefined, signal).catch((error: unknown) => {
    throw error instanceof SnapshotError ? failed(error) : error
  })
  if (JSON.stringify(read.sums) !== JSON.stringify(taken.sums)) throw failed()
}

/** The handle's own stream would close it before the data is synced to disk. */
const createWriter = (handle: FileHandle): Writable => {
  const write = async (chunk: Buffer, done: (error?: Error) => void) => {
    let writeError: Error | undefined
    await handle.writeFile(chunk).catch((error: Error) => {
      writeError = error
    })
    done(writeError)
  }
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) })
}

/** Writes a snapshot of the database to a stream and closes the stream. Throws `SnapshotError` or `Interrupted`. */
export async function takeSnapshot(out: Writable, options: SnapshotOptions): Promise<TakenSnapshot> {
  const client = await connect({ ...options.connection, keepAlive: true, application_name: 'rapport backup' })
  const { signal } = options
  const interrupt = () => client.connection.stream.destroy()
  signal?.addEventListener('abort', interrupt)
  try {
    if (signal?.aborted) interrupt()
    await client.query(sessionSettings)
    const snapshot = await beginSnapshot(client, options)
    const sums: SnapshotSums = { tables: {} }
    const digest = createHash('sha256')
    let bytes = 0
    const appendTrailer = async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        digest.update(chunk)
        bytes += chunk.length
        yield chunk
      }
      const end = trailer(bytes, digest.digest('hex'))
      bytes += end.length
      yield end
    }
    await pipeline(contents(client, snapshot, sums, options), createGzip(compression), appendTrailer, out)
    const rows = Object.values(sums.tables).reduce((total, table) => total + table.rows, 0)
    return { header: snapshot.header, sums, rows, bytes, otherTables: snapshot.catalog.otherTables }
  } catch (error) {
    throw signal?.aborted ? new Interrupted('Interrupted: no backup was made.', { cause: error }) : error
  } finally {
    signal?.removeEventListener('abort', interrupt)
    // A graceful close would read an interrupted copy to its end.
    client.connection.stream.destroy()
  }
}

/** Makes every server print the same text for the same value, and removes time limits. */
export const sessionSettings = `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0;
  set lock_timeout = '30s'; set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1; set client_encoding = 'UTF8'`

interface OpenSnapshot {
  catalog: Catalog
  header: SnapshotHeader
}

/** Locks the tables first: one that a migration rewrites later would look empty in the snapshot. */
async function beginSnapshot(client: pg.Client, options: SnapshotOptions): Promise<OpenSnapshot> {
  const ownNames = namesCreatedBy(await readMigrations(options.migrationsFolder))
  const { connection } = options
  for (;;) {
    const before = await readCatalog(client, ownNames)
    const names = tableList(before)
    if (!names.includes('"schema_migrations"')) throw new SnapshotError('The database contains no data of Rapport yet.')
    const tables = before.tables.map(({ name }) => name)
    const catalog = await withPausedDirectory(client, { connection, tables }, async () => {
      await client.query(`begin isolation level repeatable read, read only; lock table ${names} in access share mode`)
      return readCatalog(client, ownNames)
    })
    if (tableList(catalog) === names) return { catalog, header: await buildHeader(client, catalog, options) }
    await client.query('rollback')
  }
}

const tableList = ({ tables }: Catalog): string => tables.map(({ name }) => quoteIdentifier(name)).join(', ')

async function buildHeader(
  client: pg.Client,
  catalog: Catalog,
  { migrationsFolder, version }: SnapshotOptions,
): Promise<SnapshotHeader> {
  const { rows: migrations } = await client.query<AppliedMigration>(
    'select version, name, checksum from schema_migrations order by version',
  )
  const ours = await readMigrations(migrationsFolder)
  const [applied, schema] = [migrations.map(({ name }) => name), ours.map(({ file }) => file)]
  if (isFromBeforeFirstRelease(applied, schema)) throw new SnapshotError(unreleasedDatabase)
  const known = new Set(ours.map((migration) => migration.version))
  const newer = migrations.filter((migration) => !known.has(migration.version))
  if (newer.length > 0) {
    const names = newer.map(({ name }) => name).join(', ')
    throw new SnapshotError(
      `The database belongs to a newer Rapport (it includes ${names}). Back it up with that version.`,
    )
  }
  const { rows } = await client.query<{ postgresql: string; at: Date; secret: string | null }>(
    `select current_setting('server_version') as postgresql, now() as at, ${
      catalog.tables.some(({ name }) => name === 'instance')
        ? `(select value from instance where name = 'secret_fingerprint')`
        : 'null'
    } as secret`,
  )
  return {
    ...formatHeader,
    rapport: version,
    takenAt: (rows[0]?.at ?? new Date()).toISOString(),
    postgresql: rows[0]?.postgresql ?? '',
    secretFingerprint: rows[0]?.secret ?? null,
    migrations,
    tables: catalog.tables.map(({ name, columns }) => ({ name, columns })),
  }
}

/** The text of the file. `sums` is complete when it ends. */
async function* contents(
  client: pg.Client,
  { catalog, header }: OpenSnapshot,
  sums: SnapshotSums,
  { onProgress }: SnapshotOptions,
): AsyncGenerator<string | Buffer> {
  const total = catalog.tables.reduce((sum, { estimate }) => sum + estimate, 0)
  let done = 0
  yield `${JSON.stringify(header)}\n`
  for (const { name, columns, isUnlogged } of catalog.tables) {
    const sum = new RowSum()
    for await (const chunk of isUnlogged ? [] : copyRows(client, { name, columns })) {
      sum.add(chunk)
      yield chunk
      onProgress?.(done + sum.rows, total)
    }
    yield endOfRows
    sums.tables[name] = sum.result()
    done += sum.rows
  }
  await client.query('commit')
  yield `${JSON.stringify(sums)}\n`
}

/** A table's rows in COPY's text format, in chunks that can end anywhere. */
export const copyRows = (
  client: pg.Client,
  { name, columns }: { name: string; columns: readonly string[] },
): AsyncIterable<Buffer> =>
  client.query(
    copyTo(`copy ${quoteIdentifier(name)} (${columns.map(quoteIdentifier).join(', ')}) to stdout`),
  ) as AsyncIterable<Buffer>

const exists = async (file: string): Promise<boolean> => (await stat(file).catch(() => undefined)) !== undefined
