import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { connect, isConnectTimeout } from '../../database/connect.ts'
import { explainSystemError, type DataPaths } from './data-folder.ts'
import { type ServerOptions, startServer } from './embedded-server.ts'
import { isConnectionLoss, sqlState } from '../../database/failures.ts'
import { problemOfKind } from '../../database/problems.ts'
import { livePostmaster } from './postmaster.ts'
import { Interrupted } from '../../database/interrupted.ts'
import { isRoleMissing, makeServiceRole, serviceConnection } from './service-role.ts'
import { StartError } from '../../database/start-error.ts'
import type { Purpose } from './owner.ts'

export interface DatabaseLockOptions extends ServerOptions {
  purpose: Purpose
  /** Reports what keeps the service from working; by default, `log` does. */
  logError?: (message: string) => void
  /** Milliseconds to wait for a command that uses the database. */
  wait?: number
  /** Ends the wait. */
  signal?: AbortSignal
}

/** A session with the server. Unless attached, it holds the lock and its process owns the server. */
export interface DatabaseLock {
  client: pg.Client
  attached: boolean
}

/** The `application_name` of the lock's session, before its process id. */
const serviceName = 'rapport service'

/** The database for the lock, the same in every version: advisory locks apply to a single database. */
const lockDatabase = 'postgres'

/** The advisory lock: two arbitrary numbers, the same in every version. */
const lockKeys = [20_261_121, 1]

/** Milliseconds for a running server to respond. */
const responseTimeout = 10_000
/** Milliseconds for a server that reports that it is starting, stopping or recovering, which can take minutes. */
const recoveryTimeout = 600_000
/** Milliseconds for PostgreSQL to notice that a killed service is gone. */
const grace = 2_000

/** Locks the server of the data folder, started if necessary. Waits for a running command. Throws `StartError`. */
export async function acquireDatabaseLock(paths: DataPaths, options: DatabaseLockOptions): Promise<DatabaseLock> {
  const { purpose, log, wait = 30_000, signal } = options
  let state = ''
  let since = performance.now()
  let loggedState = ''
  for (;;) {
    const found = await probe(paths)
    let next: string
    if (found === 'not running') {
      next = found
      await startServer(paths, options)
    } else if (found === 'without role') {
      next = found
      await prepareRole(paths)
    } else if (typeof found === 'string') {
      next = found
      const timeout = found === 'starting or stopping' ? recoveryTimeout : responseTimeout
      if (performance.now() - since > timeout && next === state)
        throw found === 'full' ? fullError() : await unresponsiveError(paths)
    } else {
      const holder = await tryLock(found, purpose)
      if (holder === 'me') return { client: found, attached: false }
      const byService = holder?.startsWith(`${serviceName} (`) ?? false
      if (byService && purpose !== 'service') return { client: found, attached: true }
      await found.end()
      next = holder ?? 'another process'
      if (next === state && performance.now() - since > (byService ? grace : wait))
        throw inUseError(paths, next, byService)
    }
    if (next !== state) {
      state = next
      since = performance.now()
    } else if (performance.now() - since > 500 && loggedState !== state) {
      loggedState = state
      const served = typeof found !== 'string'
      log(served ? `Waiting for ${state}, which is using the database.` : 'Waiting for PostgreSQL to respond.')
    }
    if (signal?.aborted && found !== 'not running') throw new Interrupted('Interrupted: the database was not opened.')
    await delay(50)
  }
}

/** A session with the server, or the reason why there is none. */
async function probe(
  paths: DataPaths,
): Promise<pg.Client | 'not running' | 'unresponsive' | 'starting or stopping' | 'full' | 'without role'> {
  try {
    return await connect(serviceConnection(paths.sockets, lockDatabase), responseTimeout)
  } catch (error) {
    if (isRoleMissing(error)) return 'without role'
    if (isConnectTimeout(error)) throw await unresponsiveError(paths)
    if (sqlState(error) === '53300') return 'full'
    // Starting, stopping or recovering; terminated during the handshake.
    if (['57P03', '57P01'].includes(sqlState(error) ?? '')) return 'starting or stopping'
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code)) {
      return (await livePostmaster(paths.cluster)) === undefined ? 'not running' : 'unresponsive'
    }
    // The socket's backlog is full: the server is frozen or under load (connect(2)).
    if (code === 'EAGAIN') return 'unresponsive'
    if (code === 'EACCES') {
      throw new StartError(
        `This user cannot access the database’s socket in ${paths.sockets}. Start as the user that started the database.`,
        { cause: error },
      )
    }
    if (['ECONNRESET', 'EPIPE'].includes(code) || isTermination(error)) return 'starting or stopping'
    throw explainSystemError(error, paths.sockets)
  }
}

function fullError(): StartError {
  const { cause, remedy } = problemOfKind('connections')
  return new StartError(`${cause} ${remedy}`)
}

/** If the server stops meanwhile, the caller probes again. */
async function prepareRole({ sockets }: DataPaths): Promise<void> {
  try {
    await makeServiceRole(sockets)
  } catch (error) {
    if (!isConnectionLoss(error) && !isConnectTimeout(error)) throw error
  }
}

const isTermination = (error: unknown): boolean =>
  error instanceof Error && /terminated|not queryable/i.test(error.message)

/** Takes the lock and returns `me`, or returns its holder; undefined if the holder has just gone. */
async function tryLock(client: pg.Client, purpose: Purpose): Promise<string | undefined> {
  const name = purpose === 'service' ? serviceName : purpose
  try {
    await client.query(`select set_config('application_name', $1, false)`, [`${name} (process ${process.pid})`])
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) locked', lockKeys)
    const locked = rows[0]?.locked ?? false
    return locked ? 'me' : await findLockHolder(client)
  } catch (error) {
    // The previous holder's server is stopping: the connection may be reset instead of answered.
    if (isConnectionLoss(error) || isTermination(error)) return undefined
    throw error
  }
}

async function findLockHolder(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string }>(
    `select activity.application_name as name from pg_locks held join pg_stat_activity activity using (pid)
      where held.locktype = 'advisory' and held.granted and held.classid = $1 and held.objid = $2 and held.objsubid = 2`,
    lockKeys,
  )
  return rows[0]?.name
}

async function unresponsiveError({ cluster, dataFolder }: DataPaths): Promise<StartError> {
  const pid = await livePostmaster(cluster)
  return new StartError(
    `The PostgreSQL of ${dataFolder} is running (process ${pid ?? 'unknown'}) but did not respond within ${responseTimeout / 1000} s; it may be frozen. Resume it (kill -CONT) or end it (kill -QUIT, then kill -CONT), then start again.`,
  )
}

function inUseError({ dataFolder }: DataPaths, holder: string, byService: boolean): StartError {
  const advice = byService
    ? 'Only one service can run on it: stop that one, or set DATA_DIR to another folder.'
    : 'Try again when that is done.'
  return new StartError(`The data folder ${dataFolder} is in use by ${holder}. ${advice}`)
}
