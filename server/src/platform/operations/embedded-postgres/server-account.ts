import { constants } from 'node:fs'
import { lchown, lstat, open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../database/start-error.ts'

export interface Account {
  uid: number
  gid: number
}

/** PostgreSQL refuses to run as root. Distributions and systemd leave 65520 to 65533 unused; containers have them. */
const ownAccount: Account = { uid: 65_527, gid: 65_527 }

/** `nobody`, which ran the server of root in earlier versions. */
export const formerUser = 65_534

export const serverAccount = (): Account | undefined => (process.getuid?.() === 0 ? ownAccount : undefined)

export const isServerUser = (uid: number): boolean => uid === ownAccount.uid || uid === formerUser

export const serverUsers: readonly number[] = [ownAccount.uid, formerUser]

interface NamedAccount extends Account {
  name: string
}

async function namedAccounts(): Promise<NamedAccount[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return /^\d+$/.test(uid ?? '') ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** Throws `StartError` if the machine has given the account's number to somebody. */
export async function assertAccountIsUnused(): Promise<void> {
  const account = serverAccount()
  const taken = account && (await namedAccounts()).find(({ uid }) => uid === account.uid)
  if (!taken) return
  throw new StartError(
    `Started as root, Rapport runs PostgreSQL as user ${taken.uid}, but that is ${taken.name} on this machine. Start as another user than root, or set DATABASE_URL to your own PostgreSQL 15 or newer.`,
  )
}

/** `initdb` needs a user with a name. One without processes, so that nobody can touch the cluster meanwhile. */
export async function initializingAccount(): Promise<Account | undefined> {
  const account = serverAccount()
  if (!account) return undefined
  const busy = await usersOfProcesses()
  const named = (await namedAccounts()).filter(({ uid }) => uid > 0)
  const system = named.filter(({ uid }) => uid < 1000 && !busy.has(uid))
  const uid = (system.at(0) ?? named.find((one) => !busy.has(one.uid)))?.uid ?? formerUser
  // With the group of the account, it can enter the data folder.
  return { uid, gid: account.gid }
}

async function usersOfProcesses(): Promise<Set<number>> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(ids.map((id) => stat(join('/proc', id)).catch(() => undefined)))
  return new Set(found.flatMap((process) => (process ? [process.uid] : [])))
}

/**
 * Gives a cluster on which no server runs to the server's account. Can be repeated after a crash. No user can redirect
 * it: each folder belongs to root before anything in it is changed, and no link is followed. Throws `StartError` if it
 * contains something of another user than `from`.
 */
export async function takeOver(folder: string, from: number): Promise<void> {
  const account = serverAccount()
  if (!account) return
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const { uid } = await handle.stat()
    if (uid === account.uid) return
    if (uid !== 0 && uid !== from) throw foreign(folder, uid)
    await handle.chown(0, 0)
    await handle.chmod(0o700)
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      const found = await lstat(path)
      if (found.isDirectory()) await takeOver(path, from)
      else if (found.uid !== from && found.uid !== account.uid) throw foreign(path, found.uid)
      else if (found.nlink > 1) throw new StartError(`${path} has a second name. Nothing was started. Remove one.`)
      else await lchown(path, account.uid, account.gid)
    }
    await handle.chown(account.uid, account.gid)
  } finally {
    await handle.close()
  }
}

const foreign = (path: string, uid: number): StartError =>
  new StartError(`${path} is part of the database, but belongs to user ${uid}. Nothing was started.`)
