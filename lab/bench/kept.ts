import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UsageError } from '../shared/command.ts'
import type { Account, Workspace } from '../shared/service.ts'
import type { BenchOptions } from './options.ts'

/** State of a filled database in a folder, for later runs. */
export interface Filled extends Pick<BenchOptions, 'contacts' | 'organizations'> {
  account: Account
  /** Number of runs that have measured it; the contacts that they created are still there. */
  runs: number
}

/** Runs on the same database use different numbers for what they create. */
export const maxRuns = 16

const fileName = 'filled.json'

/** A workspace in a folder that remains after the command. */
export async function keptWorkspace(root: string, path: string): Promise<Workspace> {
  const folder = resolve(path)
  await mkdir(folder, { recursive: true })
  // As for a temporary folder: the database may run as another user.
  await chmod(folder, 0o711)
  return { root, folder, settings: {}, remove: async () => undefined }
}

/**
 * The state that an earlier run left in the folder; undefined if it is not filled yet. Errors: `UsageError` if it does
 * not match.
 */
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

/** Stores the state of the filled database. */
export const writeFilled = ({ folder }: Workspace, filled: Filled): Promise<void> =>
  writeFile(join(folder, fileName), `${JSON.stringify(filled, null, 2)}\n`, { mode: 0o600 })
