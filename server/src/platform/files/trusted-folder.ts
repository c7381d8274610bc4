import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { dirname, join, parse, resolve, sep } from 'node:path'

const maxLinks = 40

/**
 * Why this process must not write to a folder: another user could replace what is in it with a link to something else,
 * or has already put something there. Undefined if it is trusted or does not exist. `others` are users whose files may
 * be in it too, and whose those that `except` matches are does not matter.
 */
export async function problemOfFolder(
  folder: string,
  { others, except }: { others: readonly number[]; except: RegExp },
): Promise<string | undefined> {
  const self = process.getuid?.()
  if (self === undefined) return undefined
  const problem = self === 0 ? await problemOfPath(folder) : undefined
  return problem ?? (await problemOfContents(folder, [0, self, ...others], except))
}

/** Only root may be able to change any step of the path. Sticky folders such as /tmp protect what is in them. */
async function problemOfPath(folder: string): Promise<string | undefined> {
  const trusted = [0, ...(await unmappedUser())]
  const { root } = parse(resolve(folder))
  let path = root
  let steps = resolve(folder).slice(root.length).split(sep)
  let links = 0
  for (;;) {
    const found = await stateOf(path)
    if (!found) return undefined
    if (!trusted.includes(found.uid)) return `${path} belongs to user ${found.uid}, who could replace what root writes`
    if (found.isSymbolicLink()) {
      if (++links > maxLinks) return `${path} is a loop of links`
      const target = resolve(dirname(path), await readlink(path))
      steps = [...target.slice(root.length).split(sep), ...steps]
      path = root
    } else if (steps.length > 0 && (found.mode & 0o1002) === 0o002) {
      return `every user can replace what is in ${path}`
    }
    const [next, ...rest] = steps
    if (next === undefined) return undefined
    path = join(path, next)
    steps = rest
  }
}

/** In a container without all users of the machine, root's files of the machine belong to this one. */
async function unmappedUser(): Promise<number[]> {
  const map = await readFile('/proc/self/uid_map', 'utf8').catch(() => undefined)
  if (map === undefined || /^\s*0\s+0\s+4294967295\s*$/.test(map)) return []
  return [Number(await readFile('/proc/sys/kernel/overflowuid', 'utf8').catch(() => '65534'))]
}

async function problemOfContents(
  folder: string,
  users: readonly number[],
  except: RegExp,
): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => !except.test(one))) {
    const path = join(folder, name)
    const uid = (await stateOf(path))?.uid
    if (uid !== undefined && !users.includes(uid)) return `${path} belongs to user ${uid}`
  }
  return undefined
}

const stateOf = (path: string) =>
  lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
