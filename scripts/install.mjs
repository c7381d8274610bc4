import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isReadOnly, runningServices, withInstallLock } from './lock.mjs'
import { Refusal } from './refusal.mjs'

/**
 * Installs the packages of package-lock.json if node_modules differs from it. `development` includes the packages for
 * tests and checks. `log` receives the progress.
 */
export async function ensureInstalled(root, { development, log }) {
  if (isInstalled(root, development)) return
  const install = (recordPid) =>
    isInstalled(root, development) ? undefined : installUnderLock(root, { development, log, recordPid })
  try {
    await withInstallLock(root, { log }, install)
  } catch (error) {
    if (!isReadOnly(error)) throw error
    throw new Refusal(
      `The dependencies have to be installed, but ${root} cannot be written to by this user (${error.code}).`,
    )
  }
}

/** npm writes `node_modules/.package-lock.json` last, so it only lists completed installations. */
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

async function installUnderLock(root, { development, log, recordPid }) {
  const [service] = runningServices(root)
  // Adding development packages changes no installed package; any other installation deletes packages of a running
  // service.
  const additive = development && isInstalled(root, false)
  if (service !== undefined && !additive && existsSync(join(root, 'node_modules'))) {
    throw new Refusal(
      `The dependencies changed, but a service runs from this folder (process ${service}). Stop it, then run this again.`,
    )
  }
  const count = Object.values(packagesOf(join(root, 'package-lock.json'))).filter(
    (entry) => development || !entry.dev,
  ).length
  log(`Installing the dependencies (at most ${count} packages; this happens once)…`)
  const began = Date.now()
  const command = additive ? ['install', '--no-save'] : ['ci']
  const packageKinds = development ? ['--include=dev', '--include=optional'] : ['--omit=dev', '--include=optional']
  const parameters = [...command, ...packageKinds, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const unreachable = await whyUnreachable(root, recordPid)
  if (unreachable === undefined) await npm(root, parameters, recordPid)
  else await installFromCache(root, parameters, { recordPid, unreachable })
  if (!isInstalled(root, development))
    throw new Refusal('npm has finished, but the installed packages differ from package-lock.json.')
  log(`Installed in ${Math.round((Date.now() - began) / 1000)} s.`)
}

/** Milliseconds to wait for the registry. */
const probeTimeout = 5000
const networkError =
  /^npm error code ((?:ENOTFOUND|EAI_|ECONN|ENETUNREACH|EHOSTUNREACH|E\w*TIMED?OUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\w*)/m

/**
 * Pings the registry first, because an installation retries for more than a minute before it fails. Uses npm, which
 * knows the proxy and the certificates. Any response counts, even an error. Resolves to undefined if the registry is
 * reachable.
 */
async function whyUnreachable(root, recordPid) {
  const parameters = ['ping', '--fetch-retries=0', `--fetch-timeout=${probeTimeout}`, '--loglevel=notice']
  const { timedOut, text } = await run(root, parameters, { recordPid, output: 'pipe', timeout: probeTimeout + 3000 })
  const code = timedOut ? 'no response' : networkError.exec(text)?.[1]
  if (code === undefined) return undefined
  const registry = /PING (\S+)/.exec(text)?.[1]
  return `the npm registry${registry ? ` ${registry}` : ''} cannot be reached (${code === 'FETCH_ERROR' ? 'no response' : code})`
}

/** Installs from npm's cache, which may contain everything. */
async function installFromCache(root, parameters, { recordPid, unreachable }) {
  const { code } = await run(root, [...parameters, '--offline'], { recordPid, output: 'pipe' })
  if (code === 0) return
  throw new Refusal(
    `The dependencies cannot be installed: ${unreachable}. Connect this machine to the network, or set npm's \`registry\` or \`proxy\`, then run this again.`,
  )
}

async function npm(root, parameters, recordPid) {
  // The output goes to standard error, so that standard output contains only the result of the command.
  const { code, signal } = await run(root, parameters, { recordPid, output: 2 })
  if (code === 0) return
  throw new Refusal(`npm ${parameters[0]} failed (${signal ?? `exit code ${code}`}); its message is above.`)
}

/** Runs npm for at most `timeout` ms. Resolves to how it ended and, if piped, to its output. */
function run(root, parameters, { recordPid, output, timeout }) {
  const script = process.env.npm_execpath ?? ''
  const [program, first] = basename(script) === 'npm-cli.js' ? [process.execPath, [script]] : ['npm', []]
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...first, ...parameters], { cwd: root, stdio: ['ignore', output, output] })
    const stop = (signal) => child.kill(signal)
    process.once('SIGINT', stop).once('SIGTERM', stop)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
    let timedOut = false
    const timer =
      timeout &&
      setTimeout(() => {
        timedOut = true
        child.kill('SIGKILL')
      }, timeout)
    child.once('spawn', () => recordPid(child.pid))
    child.once('error', (error) => reject(new Refusal(`npm could not be started: ${error.message}`)))
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      process.off('SIGINT', stop).off('SIGTERM', stop)
      resolve({ code, signal, timedOut, text })
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
