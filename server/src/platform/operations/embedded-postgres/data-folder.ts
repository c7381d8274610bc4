import { createHash, randomBytes } from 'node:crypto'
import {
  access,
  chmod,
  chown,
  constants,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { canAccess, makeAccessible } from './binaries.ts'
import { isCluster, isSocketFolderShort } from './cluster.ts'
import { formerUser, serverAccount, serverUsers } from './server-account.ts'
import { StartError } from '../../database/start-error.ts'
import { syncFolder, writeDurably } from '../../files/durable.ts'
import { explainFileError } from '../../files/explain.ts'
import { problemOfFolder } from '../../files/trusted-folder.ts'
import { runAsOwner, type Purpose } from './owner.ts'

export interface DataPaths {
  /** The data folder's real path. */
  dataFolder: string
  cluster: string
  sockets: string
  log: string
}

/** A file in the data folder that contains the cluster's path if the cluster had to be placed elsewhere. */
const pointerName = 'postgres.location'

interface Pointer {
  cluster: string
  /** Once true, a missing cluster is reported as a loss instead of being created. */
  made: boolean
}

/** The complete new cluster of a move to a newer PostgreSQL. Once it exists, it is the current one. */
export const movedCluster = (cluster: string): string => `${cluster}.moved`

/** Where a move leaves the old cluster. */
export const previousCluster = (cluster: string, major: number): string => `${cluster}-${major}`

/** The backup that a move exports from the old cluster and imports into the new one. */
export const moveBackup = (dataFolder: string, major: number): string => join(dataFolder, `postgres-${major}.backup`)

/** Has the embedded database of this data folder ever been created? */
export async function embeddedDatabaseExists(dataFolder: string): Promise<boolean> {
  const inside = join(dataFolder, 'postgres')
  const signs = [inside, movedCluster(inside), join(dataFolder, pointerName)]
  return (await Promise.allSettled(signs.map((sign) => stat(sign)))).some(({ status }) => status === 'fulfilled')
}

/** The major version of the PostgreSQL that created the cluster, or undefined. */
export async function clusterVersion(folder: string): Promise<number | undefined> {
  const text = await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : Number.parseInt(text, 10)
}

/**
 * Renames a moved cluster into place, also for a killed process; no server may be running on it. Deletes the move's
 * backup first: as long as the moved cluster exists, the move is unfinished. Safe in several processes, because an
 * existing name cannot be renamed to.
 */
export async function finishMove({ cluster, dataFolder }: Pick<DataPaths, 'cluster' | 'dataFolder'>): Promise<void> {
  const moved = await clusterVersion(movedCluster(cluster))
  const old = await clusterVersion(cluster)
  if (moved === undefined || moved === old) return
  for (const name of await readdir(dataFolder)) {
    if (/^postgres-\d+\.backup$/.test(name)) await rm(join(dataFolder, name), { force: true })
  }
  try {
    if (old !== undefined) await rename(cluster, previousCluster(cluster, old))
    await rename(movedCluster(cluster), cluster)
    await syncFolder(dirname(cluster))
  } catch (error) {
    const isDone = async () => (await clusterVersion(cluster)) === moved
    for (let looks = 0; !(await isDone()); looks++) {
      if (looks === 50) throw error
      await delay(20)
    }
  }
}

/** Creates the data folder if missing and finds the cluster. Throws `StartError` without changing anything. */
export async function prepareDataFolder(
  folder: string,
  rootsFolder: string,
  purpose: Purpose = 'service',
): Promise<DataPaths> {
  const path = resolve(folder)
  try {
    await createFolder(path)
    await assertUsable(path, purpose)
    await assertTrustedFolder(path, purpose)
    const dataFolder = await realpath(path)
    const cluster = await locateCluster(dataFolder, rootsFolder, purpose)
    await assertOwner(cluster, dataFolder, purpose)
    const inside = join(dirname(cluster), 'sockets')
    const sockets = isSocketFolderShort(inside) ? inside : await shortSocketFolder(dataFolder, rootsFolder)
    return { dataFolder, cluster, sockets, log: join(dataFolder, 'postgres.log') }
  } catch (error) {
    throw explainSystemError(error, path)
  }
}

/** Records that the cluster has been created, wherever it is. */
export async function markClusterCreated({ dataFolder, cluster }: DataPaths): Promise<void> {
  const pointer = await readPointer(dataFolder)
  if (pointer && !pointer.made) await writePointer(dataFolder, { cluster, made: true })
}

/** Explains an error of the operating system and what to do. */
export function explainSystemError(error: unknown, path: string): unknown {
  if (error instanceof StartError || !(error instanceof Error)) return error
  const { code } = error as NodeJS.ErrnoException
  // A missing file is rather a defect than something that the operator can correct.
  const explanation = code === 'ENOENT' ? undefined : explainFileError(error)
  if (explanation === undefined) return error
  return new StartError(`The data folder ${path} cannot be used (${code}): ${explanation}`, { cause: error })
}

/** Why the data folder cannot be trusted. While a cluster is created, it belongs to another account. */
export const problemOfDataFolder = (folder: string): Promise<string | undefined> =>
  problemOfFolder(folder, { others: serverUsers, except: /^postgres(?:$|.*\.new-[0-9a-f]{12}$)/ })

export async function untrustedFolderAdvice(folder: string, purpose: Purpose): Promise<string> {
  if (!serverAccount()) return 'Remove what is not yours, or set DATA_DIR to another folder.'
  const { uid } = await stat(folder)
  return uid === 0
    ? 'Remove what is not root’s, or set DATA_DIR to a folder below one that only root can change, such as /var/lib/rapport.'
    : runAsOwner(uid, folder, purpose)
}

async function createFolder(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found && !found.isDirectory()) {
    throw new StartError(`The data folder ${path} is a file. Set DATA_DIR to another folder.`)
  }
  if (found) return
  await mkdir(dirname(path), { recursive: true })
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error
  })
}

async function assertUsable(folder: string, purpose: Purpose): Promise<void> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    const { uid } = await stat(folder)
    throw new StartError(
      `The data folder ${folder} belongs to user ${uid}, and user ${process.getuid?.()} cannot write to it. ${await runAsOwner(uid, folder, purpose)}`,
    )
  }
}

/** Throws `StartError` if another user has put something into the data folder, or could replace what root writes. */
export async function assertTrustedFolder(folder: string, purpose: Purpose): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (serverAccount() && found?.uid === 0 && found.mode & 0o022) await chmod(folder, found.mode & 0o7755)
  const problem = await problemOfDataFolder(folder)
  if (problem === undefined) return
  const advice = await untrustedFolderAdvice(folder, purpose)
  throw new StartError(`The data folder ${folder} cannot be trusted: ${problem}. ${advice}`)
}

async function locateCluster(dataFolder: string, rootsFolder: string, purpose: Purpose): Promise<string> {
  const pointer = await readPointer(dataFolder)
  const inside = join(dataFolder, 'postgres')
  const location = pointer?.cluster ?? inside
  if (!(await isCluster(location))) await finishMove({ cluster: location, dataFolder })
  if (pointer) {
    if (pointer.made && !(await isCluster(pointer.cluster))) {
      throw new StartError(
        `The database of ${dataFolder} should be in ${pointer.cluster} (according to ${join(dataFolder, pointerName)}), but nothing is there. Restore it, or delete that file to start with an empty database.`,
      )
    }
    if (!pointer.made) await createClusterParent(pointer.cluster)
    return pointer.cluster
  }
  const account = serverAccount()
  if (!account) return inside
  const { uid, mode } = await stat(dataFolder)
  if (uid === 0 && !(mode & 0o001)) {
    // The group may enter the folder but not list it: its other contents (the secret) stay readable only by root.
    await chown(dataFolder, 0, account.gid)
    await chmod(dataFolder, 0o710)
  }
  if (await canAccess(dataFolder)) return inside
  if (await isCluster(inside)) {
    await assertOwner(inside, dataFolder, purpose)
    throw new StartError(
      `The database is in ${inside}, which the account that runs PostgreSQL (user ${account.uid}) cannot access. Make its parent folders accessible: chmod o+x`,
    )
  }
  return locateOutside(dataFolder, rootsFolder)
}

/** If two starts happen at once, the choice of the first one counts. */
async function locateOutside(dataFolder: string, rootsFolder: string): Promise<string> {
  const cluster = join(rootsFolder, `data-${randomBytes(8).toString('hex')}`, 'postgres')
  const pointer: Pointer = { cluster, made: false }
  try {
    await writeFile(join(dataFolder, pointerName), JSON.stringify(pointer), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const first = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readPointer(dataFolder) : undefined
    if (!first) throw error
    await createClusterParent(first.cluster)
    return first.cluster
  }
  await createClusterParent(cluster)
  return cluster
}

async function createClusterParent(cluster: string): Promise<void> {
  const home = dirname(cluster)
  await makeAccessible(dirname(home))
  await makeAccessible(home)
}

async function readPointer(dataFolder: string): Promise<Pointer | undefined> {
  const text = await readFile(join(dataFolder, pointerName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Pointer
  } catch {
    throw new StartError(`${join(dataFolder, pointerName)} is damaged: expected the path of the database.`)
  }
}

async function writePointer(dataFolder: string, pointer: Pointer): Promise<void> {
  await writeDurably(join(dataFolder, pointerName), JSON.stringify(pointer))
}

/** Never advises to change the owner, which would end a running service: another user cannot see whether one runs. */
async function assertOwner(cluster: string, dataFolder: string, purpose: Purpose): Promise<void> {
  const owner = (await stat(cluster).catch(() => undefined))?.uid
  const account = serverAccount()
  if (owner === undefined || owner === (account?.uid ?? process.getuid?.())) return
  // Of an earlier version, or while it is given to the account: see `takeOver`.
  if (account && (owner === formerUser || owner === 0)) return
  throw new StartError(
    `The database in ${dataFolder} belongs to user ${owner}. ${await runAsOwner(owner, dataFolder, purpose)}`,
  )
}

/** Deterministic, so that every process of this data folder uses the same path. */
async function shortSocketFolder(dataFolder: string, rootsFolder: string): Promise<string> {
  const hash = createHash('sha256').update(`${process.getuid?.()} ${dataFolder}`).digest('hex').slice(0, 16)
  if (!serverAccount()) return join('/tmp', `rapport-${hash}`)
  await makeAccessible(rootsFolder)
  return join(rootsFolder, `sockets-${hash}`)
}
