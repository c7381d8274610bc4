import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { connect } from './connect.ts'
import { type MigrationTarget, openTarget } from './distribution/distribute.ts'
import { sqlState } from './failures.ts'
import { isFromBeforeFirstRelease, unreleasedDatabase } from './first-release.ts'
import { splitStatements } from './split-statements.ts'
import { StartError } from './start-error.ts'

export interface MigrateOptions {
  /** Contains files named `0001_name.sql`, applied in the order of their numbers and never changed afterwards. */
  folder: string
  log: (message: string) => void
  /** Tables that may be on other servers than the rest, where the database has such servers. */
  organizationTables?: readonly string[]
  /** True to move them there with their records; without records, they are moved anyway. */
  distributes?: boolean
}

export interface Migration {
  version: number
  file: string
  text: string
  checksum: string
}

/**
 * Applies the migrations of the folder; one process applies them and others wait. Each file is one transaction, unless
 * its first line is `-- rapport: no transaction` (for `create index concurrently`): then its statements are sent one by
 * one, and the file must be repeatable after an interruption: start with `drop index concurrently if exists`, because an
 * interrupted build leaves an invalid index. Throws `StartError`; earlier migrations stay applied.
 */
export async function migrate(
  connection: pg.ClientConfig,
  { folder, log, organizationTables: tables, distributes: isWanted = false }: MigrateOptions,
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(folder)
  const lockSession = await openSession(connection)
  try {
    await acquireMigrationLock(lockSession, log)
    const session = await openSession(connection)
    try {
      const ownSessions = await Promise.all([session, lockSession].map(readPid))
      const pending = await findPending(session, migrations)
      const target = await openTarget(session, tables && { tables, isWanted, log, ownSessions })
      const applied = await applyPending(session, lockSession, pending, { log, ...target })
      await target.finish(applied.length === migrations.length)
      return { applied }
    } finally {
      await session.end()
    }
  } finally {
    await lockSession.end()
  }
}

/** The first line of a file that is sent statement by statement. */
export const noTransactionMarker = '-- rapport: no transaction'

export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const migrations: Migration[] = []
  for (const file of names) {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1])
    if (!(version > 0)) throw new Error(`A migration must be named like 0001_lower_case.sql; found ${file}.`)
    if (migrations.at(-1)?.version === version) throw new Error(`Two migrations have the same number: ${file}.`)
    const text = (await readFile(join(folder, file), 'utf8')).replaceAll('\r\n', '\n')
    migrations.push({ version, file, text, checksum: createHash('sha256').update(text).digest('hex') })
  }
  return migrations
}

/** Migrations have no time limits, unlike requests. */
async function openSession(connection: pg.ClientConfig): Promise<pg.Client> {
  const session = await connect({ ...connection, keepAlive: true, application_name: 'rapport migrate' })
  await session.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
  return session
}

async function readPid(session: pg.Client): Promise<number> {
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

/** The advisory lock for migrations: an arbitrary number, the same in every version. */
export const migrationLockKey = '2026112101'

/** Polls, because a waiting statement holds a snapshot, and `create index concurrently` would wait for that. */
async function acquireMigrationLock(lockSession: pg.Client, log: (message: string) => void): Promise<void> {
  const begin = performance.now()
  for (let nextLogAt = 0; ;) {
    await lockSession.query('begin')
    const { rows } = await lockSession.query<{ locked: boolean }>('select pg_try_advisory_xact_lock($1) locked', [
      migrationLockKey,
    ])
    if (rows[0]?.locked) return
    await lockSession.query('rollback')
    const seconds = Math.floor((performance.now() - begin) / 1000)
    if (seconds >= nextLogAt) {
      log(`Another process is migrating the database; waiting${seconds ? ` (${seconds} s)` : ''}.`)
      nextLogAt = seconds + 5
    }
    await delay(100)
  }
}

async function applyPending(
  session: pg.Client,
  lockSession: pg.Client,
  pending: readonly Migration[],
  target: Target,
): Promise<string[]> {
  const { log } = target
  if (pending.length > 0) await session.query(createMigrationsTable)
  const applied: string[] = []
  for (const migration of pending) {
    const begin = performance.now()
    await lockSession.query('select').catch((cause: unknown) => {
      throw new StartError('The connection that holds the migration lock was lost. Start again.', { cause })
    })
    await applyWithRetry(session, migration, target)
    log(`Applied ${migration.file} (${Math.round(performance.now() - begin)} ms).`)
    applied.push(migration.file)
  }
  return applied
}

export const createMigrationsTable = `create table if not exists schema_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default now()
)`

async function findPending(session: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const { rows: recorded } = await session.query<{ present: boolean }>(
    `select to_regclass('schema_migrations') is not null as present`,
  )
  if (!recorded[0]?.present) return migrations
  const { rows } = await session.query<{ version: number; name: string; checksum: string }>(
    'select version, name, checksum from schema_migrations order by version',
  )
  const schema = migrations.map(({ file }) => file)
  const applied = rows.map(({ name }) => name)
  if (isFromBeforeFirstRelease(applied, schema)) throw new StartError(unreleasedDatabase)
  const known = new Map(migrations.map((migration) => [migration.version, migration]))
  const unknown = rows.filter(({ version }) => !known.has(version))
  if (unknown.length > 0) {
    throw new StartError(
      `The database has a newer schema than this code: it includes ${unknown.map(({ name }) => name).join(', ')}. Nothing was changed. Start the newer Rapport that made it.`,
    )
  }
  for (const { version, name, checksum } of rows) {
    if (known.get(version)?.checksum === checksum) continue
    throw new StartError(
      `The migration ${name} was edited after it was applied to this database. Nothing was changed. Restore the file, and write schema changes as a new migration.`,
    )
  }
  const last = rows.at(-1)?.version ?? 0
  const done = new Set(rows.map(({ version }) => version))
  const pending = migrations.filter(({ version }) => !done.has(version))
  const outOfOrder = pending.find(({ version }) => version < last)
  if (outOfOrder)
    throw new StartError(
      `The migration ${outOfOrder.file} has a lower number than one that is already applied. Give it a higher number.`,
    )
  return pending
}

interface Target extends MigrationTarget {
  log: (message: string) => void
}

/**
 * While a migration waits for a table, all later statements wait behind it, and they may hold another one that it needs.
 * It gives up well before PostgreSQL looks for such a deadlock (deadlock_timeout, 1 s) and lets a request fail.
 */
const lockTimeout = 300
/** Milliseconds between attempts, and for how long a migration is tried while tables are in use. */
const retryDelay = 300
const maxRetryTime = 70_000
const logInterval = 5000

async function applyWithRetry(session: pg.Client, migration: Migration, target: Target): Promise<void> {
  const begin = performance.now()
  for (let nextLogAt = begin; ;) {
    try {
      return await apply(session, migration, target)
    } catch (error) {
      const state = sqlState(error instanceof FailedStatement ? error.cause : error)
      const isLockConflict = state === '55P03' || state === '40P01'
      const now = performance.now()
      if (!isLockConflict || now - begin > maxRetryTime) throw describeFailure(error, migration)
      if (now >= nextLogAt) {
        target.log(`${migration.file} is waiting for tables in use (${Math.round((now - begin) / 1000)} s).`)
        nextLogAt = now + logInterval
      }
      await delay(retryDelay)
    }
  }
}

async function apply(session: pg.Client, migration: Migration, target: Target): Promise<void> {
  if (migration.text.split('\n', 1)[0]?.trim() === noTransactionMarker) {
    await session.query(`set lock_timeout = '60s'`)
    await sendStatements(session, migration, target)
    await recordMigration(session, migration)
    return
  }
  await session.query('begin')
  try {
    await session.query(`set local lock_timeout = ${lockTimeout}`)
    // Recorded first: if the lock was lost, a second process fails here instead of applying the migration twice.
    await recordMigration(session, migration)
    if (target.statements) {
      await target.statements.begin()
      await sendStatements(session, migration, target)
    } else await session.query(migration.text)
    await session.query('commit')
  } catch (error) {
    await session.query('rollback').catch(() => undefined)
    throw error
  }
}

async function sendStatements(session: pg.Client, { text: file }: Migration, { statements }: Target): Promise<void> {
  for (const { text, offset } of splitStatements(file)) {
    const sending: Promise<unknown> = statements ? statements.send(text) : session.query(text)
    await sending.catch((error: unknown) => {
      throw new FailedStatement(error, offset)
    })
  }
}

async function recordMigration(session: pg.Client, { version, file, checksum }: Migration): Promise<void> {
  await session.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
    version,
    file,
    checksum,
  ])
}

class FailedStatement extends Error {
  readonly offset: number
  constructor(cause: unknown, offset: number) {
    super('a statement failed', { cause })
    this.offset = offset
  }
}

function describeFailure(error: unknown, { file, text }: Migration): StartError {
  const offset = error instanceof FailedStatement ? error.offset : 0
  const cause = error instanceof FailedStatement ? error.cause : error
  if (!(cause instanceof pg.DatabaseError)) {
    return new StartError(`The migration ${file} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
  const position = cause.position === undefined ? undefined : offset + Number(cause.position)
  const line = position === undefined ? '' : `, line ${text.slice(0, position - 1).split('\n').length}`
  const context = [cause.detail, cause.hint, cause.where].filter((words) => words !== undefined)
  return new StartError(
    [`The migration ${file} failed${line} and was rolled back: ${cause.message} (${cause.code})`, ...context].join(
      '\n',
    ),
    { cause },
  )
}
