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
  const parameters = [...command, ...kinds, '--no-audit', '--no-fund', '--loglevel=error']
  const unreachable = await whyUnreachable(root, note)
  if (unreachable === undefined) await npm(root, parameters, note)
  else await installFromCache(root, parameters, { note, unreachable })
  if (!isInstalled(root, development))
    throw new Refusal('npm finished, but the dependencies are not what package-lock.json says.')
  say(`Installed in ${Math.round((Date.now() - began) / 1000)} s.`)
}

/** Milliseconds for the registry to answer. */
const probeTimeout = 5000
const networkFault =
  /^npm error code ((?:ENOTFOUND|EAI_|ECONN|ENETUNREACH|EHOSTUNREACH|E\w*TIMED?OUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\w*)/m

/**
 * Asks the registry for a sign of life, since an installation retries for more than a minute before it gives up. npm asks,
 * because it knows the proxy and the certificates; any answer, a refusal too, is a sign of life. Undefined when there is one.
 */
async function whyUnreachable(root, note) {
  const parameters = ['ping', '--fetch-retries=0', `--fetch-timeout=${probeTimeout}`, '--loglevel=notice']
  const { isLate, said } = await run(root, parameters, { note, output: 'pipe', limit: probeTimeout + 3000 })
  const code = isLate ? 'no answer' : networkFault.exec(said)?.[1]
  if (code === undefined) return undefined
  const registry = /PING (\S+)/.exec(said)?.[1]
  return `the npm registry${registry ? ` ${registry}` : ''} cannot be reached (${code === 'FETCH_ERROR' ? 'no answer' : code})`
}

/** npm may have downloaded everything before. */
async function installFromCache(root, parameters, { note, unreachable }) {
  const { code } = await run(root, [...parameters, '--offline'], { note, output: 'pipe' })
  if (code === 0) return
  throw new Refusal(
    `The dependencies cannot be installed: ${unreachable}. Connect this machine to the network, or set npm's \`registry\` or \`proxy\`, then run this again.`,
  )
}

async function npm(root, parameters, note) {
  // Its output goes where progress goes, so that a program reading standard output sees the command's alone.
  const { code, signal } = await run(root, parameters, { note, output: 2 })
  if (code === 0) return
  throw new Refusal(`npm ${parameters[0]} failed (${signal ?? `exit code ${code}`}); its message is above.`)
}

/** Runs npm, for `limit` ms at most. Resolves to how it ended and, where its output is piped, what it said. */
function run(root, parameters, { note, output, limit }) {
  const script = process.env.npm_execpath ?? ''
  const [program, first] = basename(script) === 'npm-cli.js' ? [process.execPath, [script]] : ['npm', []]
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...first, ...parameters], { cwd: root, stdio: ['ignore', output, output] })
    const stop = (signal) => child.kill(signal)
    process.once('SIGINT', stop).once('SIGTERM', stop)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk))
    let isLate = false
    const timer =
      limit &&
      setTimeout(() => {
        isLate = true
        child.kill('SIGKILL')
      }, limit)
    child.once('spawn', () => note(child.pid))
    child.once('error', (error) => reject(new Refusal(`npm could not be started: ${error.message}`)))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve({ code, signal, isLate, said })
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
