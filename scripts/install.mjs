import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isReadOnly, runningServices, withInstallLock } from './lock.mjs'
import { Refusal } from './refusal.mjs'

/**
 * Brings node_modules to what package-lock.json says, only when they differ.
 * `development` includes what tests and checks need. `say` is told what goes on.
 */
export async function ensureInstalled(root, { development, say }) {
  if (isInstalled(root, development)) return
  const install = (note) =>
    isInstalled(root, development) ? undefined : installUnderLock(root, { development, say, note })
  try {
    await withInstallLock(root, { say }, install)
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw new Refusal(
      `The dependencies have to be installed, but ${root} cannot be written to by this user (${error.code}).`,
    )
  }
}

/** npm writes `node_modules/.package-lock.json` when it is done: what is there is compared, not remembered. */
export function isInstalled(root, development) {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const present = packagesOf(join(root, 'node_modules/.package-lock.json'))
  if (!wanted) throw new Refusal('package-lock.json is missing; this folder is not a complete copy of the project.')
  return (
    present !== undefined &&
    Object.entries(wanted).every(([path, declared]) => {
      if (path === '' || (declared.dev && !development)) return true
      const found = present[path]
      if (!found) return declared.optional === true
      return found.version === declared.version && found.integrity === declared.integrity
    })
  )
}

async function installUnderLock(root, { development, say, note }) {
  const [service] = runningServices(root)
  // Adding what only development needs moves nothing that runs; everything else would delete it under the service.
  const additive = development && isInstalled(root, false)
  if (service !== undefined && !additive && existsSync(join(root, 'node_modules'))) {
    throw new Refusal(
      `The dependencies changed, but a service runs from this folder (process ${service}). Stop it, then run this again.`,
    )
  }
  const count = Object.values(packagesOf(join(root, 'package-lock.json'))).filter(
    (entry) => development || !entry.dev,
  ).length
  say(`Installing the dependencies (at most ${count} packages; this happens once)…`)
  const began = Date.now()
  const command = additive ? ['install', '--no-save'] : ['ci']
  const kinds = development ? ['--include=dev', '--include=optional'] : ['--omit=dev', '--include=optional']
  await npm(root, [...command, ...kinds, '--no-audit', '--no-fund', '--loglevel=error'], note)
  if (!isInstalled(root, development))
    throw new Refusal('npm finished, but the dependencies are not what package-lock.json says.')
  say(`Installed in ${Math.round((Date.now() - began) / 1000)} s.`)
}

function npm(root, parameters, note) {
  const script = process.env.npm_execpath ?? ''
  const [program, first] = basename(script) === 'npm-cli.js' ? [process.execPath, [script]] : ['npm', []]
  return new Promise((resolve, reject) => {
    // Its output goes where progress goes, so that a program reading standard output sees the command's alone.
    const child = spawn(program, [...first, ...parameters], { cwd: root, stdio: ['ignore', 2, 2] })
    const stop = (signal) => child.kill(signal)
    process.once('SIGINT', stop).once('SIGTERM', stop)
    child.once('spawn', () => note(child.pid))
    child.once('error', (error) => reject(new Refusal(`npm could not be started: ${error.message}`)))
    child.once('exit', (code, signal) => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      if (code === 0) resolve()
      else reject(new Refusal(`npm ${parameters[0]} failed (${signal ?? `exit code ${code}`}); its message is above.`))
    })
  })
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}
