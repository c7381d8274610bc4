import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { connect } from '../cluster.ts'
import { lockKey, type Migration, readMigrations } from '../migrate.ts'
import { namesMade, quoted, readCatalog } from './catalog.ts'
import { type CheckedSnapshot, SnapshotError, type SnapshotHeader, trailerLength } from './format.ts'
import { SnapshotReader } from './read.ts'
import { RowSum } from './row-sum.ts'
import { dropSchema, layAside, makeSchema } from './schema.ts'
import { copyRows, sessionSettings } from './take.ts'

export interface RestoreOptions {
  connection: pg.ClientConfig
  /** What `checkSnapshot` found in the file. */
  checked: CheckedSnapshot
  migrationsFolder: string
  /** Told what it is at. */
  log: (message: string) => void
  /** So many bytes of the file are in. */
  onProgress?: (done: number, total: number) => void
  /** What else belongs to the same transaction, at its end. */
  finish?: (client: pg.Client) => Promise<void>
}

/**
 * Puts the snapshot of a file in the place of what Rapport has in the database, in one transaction: it is all there or
 * nothing has changed. The schema is that of the snapshot, so `migrate` comes next. Error: `SnapshotError`.
 */
export async function restoreSnapshot(file: string, options: RestoreOptions): Promise<void> {
  const { connection, checked, migrationsFolder, log, onProgress, finish } = options
  const migrations = await readMigrations(migrationsFolder)
  const applied = findApplied(checked.header, migrations)
  const client = await connect({ ...connection, keepAlive: true, application_name: 'rapport restore' })
  try {
    await client.query(sessionSettings)
    await noticeEnd(client)
    await client.query('begin')
    await keepOthersFromMigrating(client)
    await dropSchema(client, namesMade(migrations))
    await makeSchema(client, applied)
    await assertSameTables(client, checked.header, applied)
    const names = checked.header.tables.map(({ name }) => name)
    const laidAside = await layAside(client, names)
    // A migration may have put rows in.
    await client.query(`truncate ${names.map(quoted).join(', ')}`)
    await load(client, file, checked, onProgress)
    await setSequences(client, checked)
    await compare(client, checked, log)
    log('Building the indexes and constraints.')
    for (const { statement } of laidAside) await client.query(statement)
    for (const name of names) await client.query(`analyze ${quoted(name)}`)
    await finish?.(client)
    await client.query('commit')
  } finally {
    // Without a farewell: after a fault a copy may be half-way. The server rolls back.
    client.connection.stream.destroy()
  }
}

/** The migrations that the snapshot's schema is made of. */
export function findApplied({ migrations: theirs, rapport }: SnapshotHeader, ours: readonly Migration[]): Migration[] {
  return theirs.map(({ version, name, checksum }) => {
    const known = ours.find((migration) => migration.version === version)
    if (!known) {
      throw new SnapshotError(
        `The backup was made by a newer Rapport (${rapport}; it knows ${name}). Nothing was changed. Restore it with that one.`,
      )
    }
    if (known.checksum !== checksum) {
      throw new SnapshotError(
        `The backup was made by a Rapport whose ${name} is another one than here. Nothing was changed. Restore it with the Rapport that made it (${rapport}).`,
      )
    }
    return known
  })
}

/** A restore that was killed must not go on building indexes under its locks. Not every system can tell the server. */
const noticeEnd = (client: pg.Client) =>
  client.query(`set client_connection_check_interval = '1s'`).catch(() => undefined)

/** A service that starts meanwhile waits, as for a migration. */
async function keepOthersFromMigrating(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) locked', [lockKey])
  if (rows[0]?.locked) return
  throw new SnapshotError('Another process migrates or restores this database. Nothing was changed. Try again later.')
}

/** Only names that our own migrations made become part of a statement. */
async function assertSameTables(
  client: pg.Client,
  { tables, rapport }: SnapshotHeader,
  applied: readonly Migration[],
): Promise<void> {
  const made = await readCatalog(client, namesMade(applied))
  const shape = (list: readonly { name: string; columns: readonly string[] }[]) =>
    list.map(({ name, columns }) => `${name} (${columns.toSorted().join(', ')})`).toSorted()
  const [theirs, ours] = [shape(tables), shape(made.tables)]
  const odd = [...theirs.filter((table) => !ours.includes(table)), ...ours.filter((table) => !theirs.includes(table))]
  if (odd.length === 0) return
  throw new SnapshotError(
    `The tables of the backup are not those that Rapport ${rapport} made: ${odd.join('; ')}. Nothing was changed.`,
  )
}

async function load(
  client: pg.Client,
  file: string,
  { header, bytes }: CheckedSnapshot,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<void> {
  let done = 0
  const see = (chunk: Buffer) => onProgress((done += chunk.length), bytes)
  const reader = new SnapshotReader(file, { length: bytes - trailerLength, see })
  try {
    await reader.header()
    for await (const { name, columns, rows } of reader.tables(header)) {
      // Frozen: the table was made in this transaction, so nobody can miss its rows, and vacuum need not touch them.
      const text = `copy ${quoted(name)} (${columns.map(quoted).join(', ')}) from stdin with (freeze)`
      await pipeline(rows, client.query(copyFrom(text)))
    }
  } finally {
    await reader.close()
  }
}

async function setSequences(client: pg.Client, { sums }: CheckedSnapshot): Promise<void> {
  for (const [name, { lastValue, isCalled }] of Object.entries(sums.sequences)) {
    await client.query('select setval($1::regclass, $2, $3)', [quoted(name), lastValue, isCalled])
  }
}

/** What the database now holds is what the file says, row by row. */
async function compare(client: pg.Client, { header, sums }: CheckedSnapshot, log: (message: string) => void) {
  log('Comparing what was restored with the backup.')
  for (const table of header.tables) {
    const found = await sumOf(client, table)
    const expected = sums.tables[table.name]
    if (found.rows === expected?.rows && found.sha256 === expected.sha256) continue
    throw new SnapshotError(
      `After the load the table ${table.name} differs from the backup (${found.rows} rows, ${expected?.rows} expected). Nothing was changed.`,
    )
  }
}

/** The sum of a table as it stands. */
export async function sumOf(client: pg.Client, table: { name: string; columns: readonly string[] }) {
  const sum = new RowSum()
  for await (const chunk of copyRows(client, table)) sum.add(chunk)
  return sum.result()
}
