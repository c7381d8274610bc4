import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { migrationsFolder } from '../src/release.ts'

/**
 * The commit of the previous release, 0.1.0, whose processes run on the schema of this one during an upgrade. A release
 * replaces it.
 */
const commit = '49e80449'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Whether this copy of the repository has the history, which a package or a shallow clone lacks. */
export const hasPreviousRelease =
  spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' }).status === 0

export interface PreviousRelease {
  /** Its `bin/rapport.js`. */
  program: string
  /** The migrations of this release that it lacks. */
  laterMigrations: string[]
  remove(): Promise<void>
}

/** Builds the service of the previous release in a temporary folder, with the packages and the pages of this one. */
export async function buildPreviousRelease(): Promise<PreviousRelease> {
  const parent = await mkdtemp(join(tmpdir(), 'rapport-previous-'))
  const folder = join(parent, 'release')
  await mkdir(folder)
  const parts = ['bin', 'scripts', 'server/src', 'server/schema', 'server/data', 'docs', '*.md', 'package.json']
  const archive = execFileSync('git', ['archive', commit, ...parts], { cwd: root, maxBuffer: 1 << 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  installMissing(parent)
  const script = `(await import(${JSON.stringify(pathToFileURL(join(folder, 'scripts/build.mjs')).href)})).build({ log() {} })`
  execFileSync(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder })
  await cp(join(root, 'web/dist'), join(folder, 'web/dist'), { recursive: true })
  // As in a package: without its sources, it is not built again.
  await rm(join(folder, 'server/src'), { recursive: true })
  const [current, earlier] = await Promise.all(
    [migrationsFolder, join(folder, 'server/schema')].map((path) => readdir(path)),
  )
  return {
    program: join(folder, 'bin/rapport.js'),
    laterMigrations: (current ?? []).filter((name) => !earlier?.includes(name)).sort(),
    remove: () => rm(parent, { recursive: true, force: true }),
  }
}

/** Installs what this release no longer uses, where Node also looks for packages. */
function installMissing(folder: string): void {
  const text = execFileSync('git', ['show', `${commit}:package.json`], { cwd: root, encoding: 'utf8' })
  const { dependencies } = JSON.parse(text) as { dependencies: Record<string, string> }
  const missing = Object.entries(dependencies).filter(([name]) => !existsSync(join(root, 'node_modules', name)))
  if (missing.length === 0) return
  const options = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', '--prefix', folder, ...options, ...missing.map((one) => one.join('@'))], {
    cwd: folder,
    stdio: 'ignore',
  })
}
