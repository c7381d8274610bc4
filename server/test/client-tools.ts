import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The package of the generators: if it were part of the project, `npm ci` would install 600 more packages. */
const declared = fileURLToPath(new URL('clients', import.meta.url))
const folder = fileURLToPath(new URL('../../.cache/clients', import.meta.url))

export const toolModules = join(folder, 'node_modules')

/** Installs the generators if they are missing. Resolves to why that is impossible, such as no network. */
export async function installTools(): Promise<string | undefined> {
  if (await isInstalled()) return undefined
  const parameters = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=0']
  try {
    await cp(declared, folder, { recursive: true })
    await run('npm', [...parameters, '--loglevel=error'], { cwd: folder, timeout: 300_000 })
  } catch (error) {
    if (process.env.CI) throw error
    return `the generators cannot be installed: ${String(error).slice(0, 300)}`
  }
  return undefined
}

/** npm writes the second file last. */
async function isInstalled(): Promise<boolean> {
  const versions = async (file: string) => {
    const { packages } = JSON.parse(await readFile(file, 'utf8')) as Lock
    return new Map(Object.entries(packages).map(([path, { version }]) => [path, version]))
  }
  const wanted = await versions(join(declared, 'package-lock.json'))
  const present = await versions(join(toolModules, '.package-lock.json')).catch(() => new Map<string, string>())
  // Packages for other platforms are optional.
  return (
    [...wanted].every(([path, version]) => path === '' || (present.get(path) ?? version) === version) &&
    present.size > 0
  )
}

interface Lock {
  packages: Record<string, { version: string }>
}

/** Runs a generator in `cwd`. Throws with its output if it fails. */
export async function runTool(script: string, parameters: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await run(process.execPath, [join(toolModules, script), ...parameters], {
    cwd,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, OPENAPI_TS_TELEMETRY: 'off', DO_NOT_TRACK: '1' },
  })
  return stdout
}
