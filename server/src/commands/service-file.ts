import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../platform/embedded-postgres/postmaster.ts'

/** What a running service tells the commands of its data folder. */
export interface RunningService {
  url: string
  pid: number
  /** When the process started, where the system says so: process ids are reused. */
  started?: string | undefined
  /** Process ids of another machine or container mean nothing here. */
  host?: string
}

export interface Announcement {
  url: string
  /** This process holds the folder's own database, so a note of another machine is left over from a crash. */
  ownsDataFolder: boolean
}

const fileName = 'service.json'

/**
 * Written once the service listens. The answer removes the note, at a clean stop. The note of another service that runs
 * is never touched: the answer is undefined then.
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

/** The service that runs on this data folder, or undefined; the note of a dead one does not count. */
export async function findService(dataFolder: string): Promise<RunningService | undefined> {
  const service = parse(await textOf(join(dataFolder, fileName)))
  return service && (await isRunning(service)) ? service : undefined
}

/** Gives the draft its name. Of several that replace the same left-over note at once, one succeeds. */
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
    // Someone else may have replaced it since: their note goes back.
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

/** Field 22 of proc(5)'s stat; the name in parentheses may hold spaces. */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await textOf(`/proc/${pid}/stat`)
  return stat?.replace(/^.*\) /s, '').split(' ')[19]
}
