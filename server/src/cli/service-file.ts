import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../platform/operations/embedded-postgres/postmaster.ts'

/** What a running service publishes in its data folder, for commands. */
export interface RunningService {
  url: string
  pid: number
  /** Start time of the process, if the system reports it: process ids are reused. */
  started?: string | undefined
  /** A process id is only meaningful on its own machine or container. */
  host?: string
}

export interface Announcement {
  url: string
  /**
   * This process holds the lock on the database of the folder, so a file from another machine is left over from a
   * crash.
   */
  ownsDataFolder: boolean
}

const fileName = 'service.json'

/**
 * Writes service.json once the service listens. Resolves to a function that removes it again at a clean stop, or to
 * undefined if the file of another running service is there, which is never changed.
 */
export async function announceService(
  dataFolder: string,
  { url, ownsDataFolder }: Announcement,
): Promise<(() => Promise<void>) | undefined> {
  const file = join(dataFolder, fileName)
  const draft = `${file}.${process.pid}.new`
  const own: RunningService = { url, pid: process.pid, started: await startOf(process.pid), host: hostname() }
  const text = JSON.stringify(own)
  await writeFile(draft, text, { mode: 0o600 })
  try {
    const isStale = async (note: RunningService) =>
      note.host !== undefined && note.host !== own.host ? ownsDataFolder : !(await isRunning(note))
    if (!(await linkOrReplace(draft, file, isStale))) return undefined
  } finally {
    await rm(draft, { force: true })
  }
  return async () => {
    if ((await textOf(file)) === text) await rm(file, { force: true })
  }
}

/** The service that is running on this data folder; undefined if its process is dead. */
export async function findService(dataFolder: string): Promise<RunningService | undefined> {
  const service = parse(await textOf(join(dataFolder, fileName)))
  return service && (await isRunning(service)) ? service : undefined
}

/** Publishes the draft under its final name. If several processes replace the same stale file, one succeeds. */
async function linkOrReplace(
  draft: string,
  file: string,
  isStale: (note: RunningService) => Promise<boolean>,
): Promise<boolean> {
  for (;;) {
    try {
      await link(draft, file)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const content = await textOf(file)
    const note = parse(content)
    if (note && !(await isStale(note))) return false
    const moved = `${draft}.old`
    if (!(await isFulfilled(rename(file, moved)))) continue
    // Another process may have replaced the file meanwhile: put it back.
    if ((await textOf(moved)) !== content) await isFulfilled(link(moved, file))
    await rm(moved, { force: true })
  }
}

const isFulfilled = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

const textOf = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined)

function parse(text: string | undefined): RunningService | undefined {
  try {
    return JSON.parse(text ?? '') as RunningService
  } catch {
    return undefined
  }
}

const isRunning = async ({ pid, started }: RunningService): Promise<boolean> =>
  isAlive(pid) && (started === undefined || started === (await startOf(pid)))

/** Start time: field 22 of /proc/<pid>/stat, see proc(5). The name in parentheses may contain spaces. */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await textOf(`/proc/${pid}/stat`)
  return stat?.replace(/^.*\) /s, '').split(' ')[19]
}
