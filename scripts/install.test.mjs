import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { ensureInstalled, isInstalled } from './install.mjs'
import { identify } from './processes.mjs'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rapport-install-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const lock = (packages) =>
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }))
const install = (packages) => {
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
}
const pino = { 'node_modules/pino': { version: '10.4.0', integrity: 'sha512-a' } }
const vitest = { 'node_modules/vitest': { version: '4.1.12', integrity: 'sha512-b', dev: true } }
const native = { 'node_modules/native-for-another-system': { version: '1.0.0', optional: true } }

test('dependencies are installed when each required one has its locked version', () => {
  lock({ ...pino, ...vitest, ...native })
  expect(isInstalled(root, false)).toBe(false)
  install(pino)
  expect([isInstalled(root, false), isInstalled(root, true)]).toEqual([true, false])
  install({ ...pino, ...vitest })
  expect([isInstalled(root, false), isInstalled(root, true)]).toEqual([true, true])
  install({ 'node_modules/pino': { version: '10.4.0', integrity: 'sha512-other' } })
  expect(isInstalled(root, false)).toBe(false)
})

test('an interrupted installation does not count, because npm writes its list last', () => {
  lock(pino)
  mkdirSync(join(root, 'node_modules/pino'), { recursive: true })
  expect(isInstalled(root, false)).toBe(false)
})

test('nothing is installed while a service is running, and the message names its process', async () => {
  lock(pino)
  install({})
  const service = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await new Promise((resolve) => service.once('spawn', resolve))
  mkdirSync(join(root, '.rapport/running'), { recursive: true })
  const lockText = JSON.stringify({ host: hostname(), processes: [identify(service.pid)] })
  writeFileSync(join(root, '.rapport/running', String(service.pid)), lockText)
  const installing = ensureInstalled(root, { development: false, log: () => undefined })
  await expect(installing).rejects.toThrow(`a service runs from this folder (process ${service.pid})`)
  expect(existsSync(join(root, 'node_modules/.package-lock.json'))).toBe(true)
  service.kill('SIGKILL')
})

test('npm runs once for several simultaneous starts, and its failure is reported', async () => {
  lock(pino)
  const npm = join(root, 'npm-cli.js')
  const script = (body) => writeFileSync(npm, body)
  const before = process.env.npm_execpath
  process.env.npm_execpath = npm
  try {
    script(`process.exit(process.argv[2] === 'ping' ? 0 : 7)`)
    const failing = ensureInstalled(root, { development: false, log: () => undefined })
    await expect(failing).rejects.toThrow('npm ci failed (exit code 7)')
    script(`if (process.argv[2] === 'ping') process.exit()
      const fs = require('node:fs')
      fs.appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n')
      fs.mkdirSync('node_modules', { recursive: true })
      fs.writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(JSON.stringify({ packages: pino }))})`)
    const start = () => ensureInstalled(root, { development: false, log: () => undefined })
    await Promise.all([start(), start(), start()])
    expect(readFileSync(join(root, 'runs'), 'utf8')).toMatch(/^ci --omit=dev [^\n]*\n$/)
  } finally {
    process.env.npm_execpath = before
    if (before === undefined) delete process.env.npm_execpath
  }
})

/** Uses the real npm with an empty cache and without the settings of this machine. */
function useNpm(registry) {
  const settings = {
    npm_config_registry: registry,
    npm_config_cache: join(root, 'cache'),
    npm_config_userconfig: join(root, 'none'),
    npm_execpath: '',
  }
  const before = Object.fromEntries(Object.keys(settings).map((name) => [name, process.env[name]]))
  Object.assign(process.env, settings)
  onTestFinished(() => {
    for (const [name, value] of Object.entries(before))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  })
  const dependencies = { tiny: '1.0.0' }
  writeFileSync(join(root, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', dependencies }))
}

const lockTiny = (integrity) => {
  const project = { name: 'x', version: '1.0.0', dependencies: { tiny: '1.0.0' } }
  const packages = { '': project, 'node_modules/tiny': { version: '1.0.0', integrity } }
  const whole = { name: 'x', version: '1.0.0', lockfileVersion: 3, requires: true, packages }
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(whole))
}

const start = () => ensureInstalled(root, { development: false, log: () => undefined })

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}/`
}

/** Accepts connections and never responds, like a firewall that drops packets. */
const blackHole = async () => listen(createTcpServer().unref())
const closedPort = async () => {
  const server = createTcpServer()
  const url = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return url
}

test.each([
  ['has no address', async () => 'http://registry.invalid/', /ENOTFOUND|EAI_AGAIN/],
  ['refuses connections', closedPort, /ECONNREFUSED/],
  ['never responds', blackHole, /no response/],
])('a registry that %s fails the start within seconds with one sentence', async (_, createRegistry, reason) => {
  const registry = await createRegistry()
  useNpm(registry)
  lockTiny('sha512-AAAA')
  const began = performance.now()
  const message = await start().then(
    () => '',
    (error) => error.message,
  )
  expect(message).toMatch(reason)
  expect(message).toContain(`The dependencies cannot be installed: the npm registry ${registry} cannot be reached (`)
  expect(message).toMatch(
    /Connect this machine to the network, or set npm's `registry` or `proxy`, then run this again\.$/,
  )
  // Without the ping it took 84 s. A busy machine starts npm slowly.
  expect(performance.now() - began).toBeLessThan(30_000)
})

test('without the registry, dependencies are installed from the cache of npm', async () => {
  const { integrity, tarball } = packTiny()
  const server = createHttpServer((request, response) => {
    if (request.url === '/tiny.tgz') return response.end(tarball)
    if (request.url !== '/tiny') return response.writeHead(404).end()
    const version = { name: 'tiny', version: '1.0.0', dist: { integrity, tarball: `${registry}tiny.tgz` } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }))
  })
  const registry = await listen(server)
  useNpm(registry)
  lockTiny(integrity)
  // The registry responds to a ping with a 404, as a simple mirror does.
  await start()
  expect(existsSync(join(root, 'node_modules/tiny/package.json'))).toBe(true)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(join(root, 'node_modules'), { recursive: true })
  await start()
  expect(existsSync(join(root, 'node_modules/tiny/package.json'))).toBe(true)
})

/** The tarball of an empty package. */
function packTiny() {
  mkdirSync(join(root, 'made/package'), { recursive: true })
  writeFileSync(join(root, 'made/package/package.json'), JSON.stringify({ name: 'tiny', version: '1.0.0' }))
  const tarball = execFileSync('tar', ['-cz', '-C', join(root, 'made'), 'package'])
  return { tarball, integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}` }
}
