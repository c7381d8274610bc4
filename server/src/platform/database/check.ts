import type pg from 'pg'
import { connect } from './connect.ts'
import { Database } from './database.ts'
import { checkDurability, type Durability } from './durability.ts'
import { isConnectionLoss, sqlState } from './failures.ts'
import { sql } from '../model/sql.ts'
import { StartError } from './start-error.ts'

/** Call it before migrating. Returns warnings. Throws `StartError`, except if the database is only unreachable. */
export async function checkDatabase(connection: pg.ClientConfig, durability: Durability): Promise<string[]> {
  const [first, second] = [await connectOrExplain(connection), await connectOrExplain(connection)]
  const warnings: string[] = []
  try {
    warnings.push(...(await checkServer(first)))
    await checkSessions(first, second)
    await checkExtensions(first)
  } finally {
    await Promise.all([first.end(), second.end()])
  }
  return [...warnings, ...(await checkPool(connection, durability))]
}

const directConnectionAdvice =
  'Set DATABASE_URL to the direct address of PostgreSQL, or to a pooler in session mode (PgBouncer: pool_mode = session).'

async function connectOrExplain(connection: pg.ClientConfig): Promise<pg.Client> {
  try {
    return await connect(connection)
  } catch (error) {
    throw explainConnectionError(error) ?? error
  }
}

/** Explains a permanent connection failure; undefined for any other error. */
export function explainConnectionError(error: unknown): StartError | undefined {
  const message = error instanceof Error ? error.message : String(error)
  const state = sqlState(error) ?? ''
  if (state === '3D000') return new StartError(`${message}. ${createDatabaseAdvice}`)
  if (state.startsWith('28')) return new StartError(`The database rejected the user or the password: ${message}`)
  if (state === '08P01')
    return new StartError(`A connection pooler rejected the connection: ${message}. ${directConnectionAdvice}`)
  if (!/SSL|certificate/i.test(message)) return undefined
  return new StartError(`An encrypted connection to the database failed: ${message}. Check sslmode in DATABASE_URL.`)
}

const createDatabaseAdvice = `Create the database like this: create database rapport template template0 encoding 'UTF8' locale 'C.UTF-8'`

async function checkServer(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{
    version: number
    name: string
    encoding: string
    isReplica: boolean
    mayCreate: boolean
    user: string
    isSuperuser: boolean
  }>(
    `select current_setting('server_version_num')::int as version, current_database() as name,
       current_setting('server_encoding') as encoding, pg_is_in_recovery() as "isReplica",
       coalesce(has_schema_privilege(current_schema(), 'create'), false) as "mayCreate",
       current_user as user, current_setting('is_superuser') = 'on' as "isSuperuser"`,
  )
  const found = rows[0]
  if (!found) throw new Error('the server version query returned no row')
  const major = Math.floor(found.version / 10_000)
  if (major < 15) throw new StartError(`Rapport needs PostgreSQL 15 or newer; this is PostgreSQL ${major}.`)
  if (found.encoding !== 'UTF8') {
    throw new StartError(
      `The database ${found.name} has the encoding ${found.encoding}; Rapport needs UTF8. ${createDatabaseAdvice}`,
    )
  }
  if (found.isReplica) throw new StartError('This database is a read-only replica. Set DATABASE_URL to the primary.')
  if (!found.mayCreate) {
    throw new StartError(
      `The user of DATABASE_URL is not allowed to create tables in the database ${found.name}. Ask an administrator to run: grant create on schema public to <user>`,
    )
  }
  return found.isSuperuser ? [superuserWarning(found.user)] : []
}

const superuserWarning = (user: string): string =>
  `The database user ${user} is a superuser, which the service does not need. Give it a role that owns its database and nothing else (docs/guides/self-hosting.md, "Use a separate role").`

/** Detects a pooler in transaction mode: the second client uses, or changes, the first client's backend. */
async function checkSessions(first: pg.Client, second: pg.Client): Promise<void> {
  const poolerError = () =>
    new StartError(
      `A connection pooler in transaction mode is in front of the database and mixes up sessions. ${directConnectionAdvice}`,
    )
  for (let round = 0; round < 3; round++) {
    const before = await readBackendPid(first)
    try {
      await second.query('begin')
      if ((await readBackendPid(second)) === before || (await readBackendPid(first)) !== before) throw poolerError()
    } catch (error) {
      throw sqlState(error) === '08P01' ? poolerError() : error
    } finally {
      await second.query('rollback').catch(() => undefined)
    }
  }
}

async function readBackendPid(client: pg.Client): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
}

const extensions = ['pg_trgm']

/** Creates the extensions, tests them and rolls back. */
async function checkExtensions(client: pg.Client): Promise<void> {
  await client.query('begin')
  try {
    for (const extension of extensions) await createExtension(client, extension)
    await checkCharacterSupport(client)
  } finally {
    await client.query('rollback')
  }
}

async function createExtension(client: pg.Client, extension: string): Promise<void> {
  const { rows } = await client.query('select from pg_extension where extname = $1', [extension])
  // Not even `if not exists` is sent: in a cluster it would be sent to every server.
  if (rows.length > 0) return
  try {
    await client.query(`create extension if not exists ${extension}`)
  } catch (error) {
    const state = sqlState(error)
    // Another process is creating it right now, so creating it is possible.
    if (state === '23505' || state === '42710') return
    const message = error instanceof Error ? error.message : String(error)
    const advice: Record<string, string> = {
      '42501': `The user is not allowed to create it. Ask an administrator to run in this database: create extension ${extension} (or: grant create on database … to <user>)`,
      '0A000': 'It is not installed on the server (Debian: postgresql-contrib), or the provider must allow it first.',
      '58P01': 'It is not installed on the server (Debian: postgresql-contrib).',
    }
    throw new StartError(`Rapport needs the extension ${extension}: ${message}. ${advice[state ?? ''] ?? ''}`.trim())
  }
}

/** How the database handles letters beyond ASCII. */
export interface CharacterSupport {
  ctype: string
  /** Number of trigrams in a Cyrillic word; 0 if the database does not treat these as letters. */
  trigrams: number
}

/** Requires the extension pg_trgm. */
export async function readCharacterSupport(client: pg.Client): Promise<CharacterSupport | undefined> {
  const { rows } = await client.query<CharacterSupport>(
    `select cardinality(show_trgm('Жы')) as trigrams,
       (select datctype from pg_database where datname = current_database()) as ctype`,
  )
  return rows[0]
}

/** With the ctype C, letters beyond ASCII have no trigrams. Searches would be slow without any other symptom. */
async function checkCharacterSupport(client: pg.Client): Promise<void> {
  const found = await readCharacterSupport(client).catch((error: unknown) => {
    if (sqlState(error) !== '42883') throw error
    throw new StartError(
      'The extension pg_trgm is in a schema outside the search_path. Add that schema: alter role <user> set search_path = public, <schema>',
    )
  })
  if (found?.trigrams) return
  throw new StartError(
    `The database knows no letters beyond ASCII (its ctype is ${found?.ctype}), so searches could not use an index. ${createDatabaseAdvice}`,
  )
}

/** Checks that the pool's limits apply (otherwise one query could run forever) and that commits are durable. */
async function checkPool(connection: pg.ClientConfig, durability: Durability): Promise<string[]> {
  const database = new Database({ connection, size: 1 })
  try {
    const rows = await database.crossTenantQuery<{ statement_timeout: string }>(
      'check the database',
      sql`show statement_timeout`,
    )
    if (rows[0]?.statement_timeout !== '0') return await checkDurability(database, durability)
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    if (sqlState(cause) !== '08P01') throw isConnectionLoss(cause) ? cause : error
  } finally {
    await database.close()
  }
  throw new StartError(
    `A connection pooler in front of the database drops the session settings ("options"). ${directConnectionAdvice} In session mode, tell PgBouncer to ignore them (ignore_startup_parameters = options) and set them for the user: alter role <user> set statement_timeout = '3500ms'`,
  )
}
