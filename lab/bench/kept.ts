import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UsageError } from '../shared/command.ts'
import type { Account, Workspace } from '../shared/service.ts'
import type { BenchOptions } from './options.ts'

/** What later runs must know of a filled database in a folder. */
export interface Filled extends Pick<BenchOptions, 'contacts' | 'organizations'> {
  account: Account
  /** Number of runs that have measured it, whose contacts are still there. */
  runs: number
}

/** Runs of the same database, each with numbers of its own for what it creates. */
export const maxRuns = 16

const fileName = 'filled.json'

/** A workspace in a folder that stays after the command. */
export async function keptWorkspace(root: string, path: string): Promise<Workspace> {
  const folder = resolve(path)
  await mkdir(folder, { recursive: true })
  // As for a temporary folder: the database may run as another user.
  await chmod(folder, 0o711)
  return { root, folder, settings: {}, remove: async () => undefined }
}

/** What an earlier run left in the folder; undefined if it is to be filled. Errors: `UsageError` if it does not fit. */
export async function readFilled({ folder }: Workspace, options: BenchOptions): Promise<Filled | undefined> {
  const file = join(folder, fileName)
  if (!existsSync(file)) {
    if (!existsSync(join(folder, 'data'))) return undefined
    throw new UsageError(`--folder: an earlier run did not finish filling ${folder}. Delete it, or name another one.`)
  }
  const filled = JSON.parse(await readFile(file, 'utf8')) as Filled
  if (filled.contacts !== options.contacts || filled.organizations !== options.organizations) {
    throw new UsageError(
      `--folder: ${folder} has ${filled.contacts} contacts of ${filled.organizations} organizations. Ask for as many.`,
    )
  }
  if (filled.runs >= maxRuns) throw new UsageError(`--folder: ${folder} was measured ${maxRuns} times. Fill a new one.`)
  return filled
}

/** Replaces what is known of the filled database. */
export const writeFilled = ({ folder }: Workspace, filled: Filled): Promise<void> =>
  writeFile(join(folder, fileName), `${JSON.stringify(filled, null, 2)}\n`, { mode: 0o600 })
