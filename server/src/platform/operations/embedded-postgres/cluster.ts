import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { chown, mkdir, mkdtemp, open, readdir, readFile, rename, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { connect, isConnectTimeout } from '../../database/connect.ts'
import { isConnectionLoss, sqlState } from '../../database/failures.ts'
import { syncFolder } from '../../files/durable.ts'
import { StartError } from '../../database/start-error.ts'
import {
  type Account,
  assertAccountIsUnused,
  formerUser,
  initializingAccount,
  serverAccount,
  takeOver,
} from './server-account.ts'

/** The alternative if the embedded database cannot run. */
export const useOwnDatabaseAdvice = 'Alternatively, set DATABASE_URL to your own PostgreSQL 15 or newer.'

/** The superuser of every embedded cluster, used only for what the service's role cannot do. */
export const clusterUser = 'rapport'

/** Only part of the socket's file name: the server does not listen on a network. */
export const socketPort = 5432

/** Maximum bytes of a Unix socket's path without the terminating NUL (Linux 107, macOS 103). */
const maxSocketPathBytes = 103

export const isSocketFolderShort = (folder: string): boolean =>
  Buffer.byteLength(join(folder, `.s.PGSQL.${socketPort}`)) <= maxSocketPathBytes

/** The connection of an administrator to a cluster started by `startPostgres`. */
export const clusterConnection = (socketFolder: string, database = 'postgres'): pg.ClientConfig => ({
  host: socketFolder,
  port: socketPort,
  user: clusterUser,
  database,
  ssl: false,
})

export async function binariesVersion(binaries: string): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)(join(binaries, 'bin/postgres'), ['--version'])
    return Number(/(\d+)/.exec(stdout)?.[1])
  } catch (error) {
    const why = error instanceof Error ? lastLines(error.message) : ''
    throw new StartError(
      `The PostgreSQL in ${binaries} does not run on this machine (it needs glibc on Linux). ${useOwnDatabaseAdvice}\n${why}`,
    )
  }
}

export interface InitializeOptions {
  /** The folder with `bin/postgres` and `bin/initdb`. */
  binaries: string
  /** Path of the new cluster; its parent exists. */
  folder: string
  /** False only if losing the cluster does no harm. */
  sync?: boolean
}

/** Renamed into place when complete: a crash leaves nothing half done, and one of two concurrent starts succeeds. */
export async function initializeCluster({ binaries, folder, sync = true }: InitializeOptions): Promise<void> {
  if (await isCluster(folder)) return
  await assertAccountIsUnused()
  const account = await initializingAccount()
  await removeStaleTemporaries(folder)
  const temporary = `${folder}.new-${randomBytes(6).toString('hex')}`
  await mkdir(temporary, { mode: 0o700 })
  try {
    if (account) await chown(temporary, account.uid, account.gid)
    const locale = await localeArguments(binaries)
    const access = ['--username', clusterUser, '--auth-local=trust', '--auth-host=reject']
    const parameters = ['-D', temporary, ...access, ...locale, ...(sync ? [] : ['--no-sync'])]
    await run(join(binaries, 'bin/initdb'), parameters, account)
    if (account) await takeOver(temporary, account.uid)
    await rename(temporary, folder)
    if (sync) await syncFolder(dirname(folder))
  } catch (error) {
    if (await isCluster(folder)) return
    throw error
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** Removes what a killed start left behind; a recent folder may still be in use. */
async function removeStaleTemporaries(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.new-`
  const hour = 3_600_000
  for (const name of await readdir(dirname(folder))) {
    if (!name.startsWith(prefix)) continue
    const path = join(dirname(folder), name)
    const createdAt = (await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now()
    if (Date.now() - createdAt > hour) await rm(path, { recursive: true, force: true })
  }
}

/** Does the folder contain a complete cluster? */
export async function isCluster(folder: string): Promise<boolean> {
  return (await stat(join(folder, 'PG_VERSION')).catch(() => undefined)) !== undefined
}

export interface StartOptions {
  binaries: string
  folder: string
  /** Contains only the socket; created with mode 0700. */
  socketFolder: string
  logFile: string
  /** Settings for postgresql.conf. */
  settings?: Record<string, string | number>
  /** Milliseconds without a response before giving up; restarts while the server reports recovery. */
  timeout?: number
}

export type StopMode = 'fast' | 'immediate'

export interface PostgresServer {
  readonly pid: number
  /** Resolves when the server has exited, for whatever reason. */
  readonly exited: Promise<void>
  /** Stops the server and waits for it. `fast` (the default) loses nothing and needs no recovery. */
  stop(mode?: StopMode): Promise<void>
}

export const stopSignals: Record<StopMode, NodeJS.Signals> = { fast: 'SIGINT', immediate: 'SIGQUIT' }

/** Starts PostgreSQL on a Unix socket and resolves once it responds. Throws `StartError` with the end of its log. */
export async function startPostgres(options: StartOptions): Promise<PostgresServer> {
  const { socketFolder, logFile, timeout = 10_000 } = options
  await createPrivateFolder(socketFolder)
  const logStart = (await stat(logFile).catch(() => undefined))?.size ?? 0
  const child = await launch(options)
  let ended = false
  const exited = exitOf(child).then(() => {
    ended = true
  })
  const failure = await waitUntilReady(clusterConnection(socketFolder), { timeout, isOver: () => ended })
  if (failure !== undefined) {
    child.kill('SIGQUIT')
    await exited
    throw new StartError(`PostgreSQL did not start (${failure}). Its log:\n${await logTail(logFile, logStart)}`)
  }
  return {
    pid: child.pid as number,
    exited,
    stop: async (mode = 'fast') => {
      if (!ended) child.kill(stopSignals[mode])
      await exited
    },
  }
}

/** The process may have exited already. */
const exitOf = (child: ChildProcess): Promise<void> =>
  child.exitCode === null && child.signalCode === null
    ? new Promise((resolve) => child.once('exit', () => resolve()))
    : Promise.resolve()

/**
 * Creates a folder that only this process and the server's account can enter, and removes what another account left in
 * it. Throws `StartError` if it belongs to somebody else.
 */
export async function createPrivateFolder(folder: string): Promise<void> {
  const account = serverAccount()
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(() => {
    throw new StartError(`${folder} is not a folder of this user. Remove it.`)
  })
  try {
    const { uid: owner } = await handle.stat()
    const expected = account?.uid ?? process.getuid?.() ?? owner
    const isNew = owner === 0 || owner === formerUser
    if (owner !== expected && !(account && isNew))
      throw new StartError(`${folder} belongs to user ${owner}, not to ${expected}. Remove it.`)
    if (account) await handle.chown(account.uid, account.gid)
    await handle.chmod(0o700)
    // Another program could have put a socket there.
    if (owner !== expected) for (const name of await readdir(folder)) await unlink(join(folder, name))
  } finally {
    await handle.close()
  }
}

/** In its own process group, so that Ctrl-C does not stop it. Logs to a file: a killed parent's pipe would end it. */
async function launch({ binaries, folder, socketFolder, logFile, settings = {} }: StartOptions): Promise<ChildProcess> {
  const log = await open(logFile, 'a', 0o600)
  try {
    const all = { ...settings, listen_addresses: '', unix_socket_directories: socketFolder, port: socketPort }
    const child = spawn(
      join(binaries, 'bin/postgres'),
      ['-D', folder, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      { ...serverAccount(), cwd: '/', env: minimalEnvironment(), detached: true, stdio: ['ignore', log.fd, log.fd] },
    )
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    return child
  } finally {
    await log.close()
  }
}

/** The reason why the server does not respond; undefined once it does. Crash recovery may take long. */
async function waitUntilReady(
  connection: pg.ClientConfig,
  { timeout, isOver }: { timeout: number; isOver: () => boolean },
): Promise<string | undefined> {
  let silentSince = performance.now()
  for (;;) {
    if (isOver()) return 'it ended immediately'
    const remaining = silentSince + timeout - performance.now()
    if (remaining <= 0) return `no response within ${timeout / 1000} s`
    try {
      await (await connect(connection, remaining)).end()
      return undefined
    } catch (error) {
      if (!isConnectionLoss(error) && !isConnectTimeout(error))
        return error instanceof Error ? error.message : String(error)
      if (sqlState(error) === '57P03') silentSince = performance.now()
    }
    await delay(20)
  }
}

/**
 * Bytewise order is immune to upgrades of the operating system; without a ctype for all letters, trigrams of non-Latin
 * text would be empty. The builtin provider exists since PostgreSQL 17.
 */
async function localeArguments(binaries: string): Promise<string[]> {
  const ctype = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8'
  const common = ['--encoding=UTF8', '--locale=C', `--lc-ctype=${ctype}`, '--text-search-config=simple']
  const builtin = (await binariesVersion(binaries)) >= 17
  return builtin ? [...common, '--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : common
}

async function run(program: string, parameters: string[], account: Account | undefined): Promise<void> {
  const named = hasName() ? undefined : await nameForUser()
  try {
    const env = { ...minimalEnvironment(), ...named?.environment }
    await promisify(execFile)(program, parameters, { ...account, cwd: '/', env })
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    if (stderr.includes('could not look up effective user')) {
      throw new StartError(
        `User ${process.getuid?.()} has no name on this machine, but PostgreSQL needs one. Start as a user in /etc/passwd, or install libnss-wrapper. ${useOwnDatabaseAdvice}`,
      )
    }
    throw new StartError(`The database could not be created. initdb reports:\n${lastLines(stderr || message)}`)
  } finally {
    if (named) await rm(named.folder, { recursive: true, force: true })
  }
}

/** Does the account that runs initdb have a name on this machine? In a container, it can be any number. */
function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

/** A name for the current user, if libnss_wrapper is installed; otherwise the loader ignores it. */
async function nameForUser(): Promise<{ folder: string; environment: NodeJS.ProcessEnv }> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-'))
  const file = join(folder, 'passwd')
  await writeFile(file, `rapport:x:${process.getuid?.()}:${process.getgid?.()}::/:/bin/sh\n`)
  const environment = { LD_PRELOAD: 'libnss_wrapper.so', NSS_WRAPPER_PASSWD: file, NSS_WRAPPER_GROUP: '/etc/group' }
  return { folder, environment }
}

/** Without the caller's locale, PG* and library settings, which would change the server's behavior. */
const minimalEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH ?? '/usr/bin:/bin', TZ: 'UTC' })

async function logTail(logFile: string, from: number): Promise<string> {
  const text = await readFile(logFile)
  return lastLines(text.subarray(Math.min(from, text.length)).toString())
}

const lastLines = (text: string): string => text.trim().split('\n').slice(-12).join('\n')
