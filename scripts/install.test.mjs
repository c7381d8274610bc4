import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureInstalled, isInstalled } from './install.mjs'
import { identify } from './processes.mjs'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rapport-install-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const lock = (packages) =>
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...packages } }))
const present = (packages) => {
  mkdirSync(join(root, 'node_modules'), { recursive: true })
  writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages }))
}
const pino = { 'node_modules/pino': { version: '10.4.0', integrity: 'sha512-a' } }
const vitest = { 'node_modules/vitest': { version: '4.1.12', integrity: 'sha512-b', dev: true } }
const native = { 'node_modules/native-for-another-system': { version: '1.0.0', optional: true } }

test('dependencies are there when each that is needed has the locked version', () => {
  lock({ ...pino, ...vitest, ...native })
  expect(isInstalled(root, false)).toBe(false)
  present(pino)
  expect([isInstalled(root, false), isInstalled(root, true)]).toEqual([true, false])
  present({ ...pino, ...vitest })
  expect([isInstalled(root, false), isInstalled(root, true)]).toEqual([true, true])
  present({ 'node_modules/pino': { version: '10.4.0', integrity: 'sha512-other' } })
  expect(isInstalled(root, false)).toBe(false)
})

test('an installation that was interrupted is no installation: npm writes its list last', () => {
  lock(pino)
  mkdirSync(join(root, 'node_modules/pino'), { recursive: true })
  expect(isInstalled(root, false)).toBe(false)
})

test('nothing is installed under a running service, and the message names it', async () => {
  lock(pino)
  present({})
  const service = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await new Promise((resolve) => service.once('spawn', resolve))
  mkdirSync(join(root, '.rapport/running'), { recursive: true })
  const note = JSON.stringify({ host: hostname(), processes: [identify(service.pid)] })
  writeFileSync(join(root, '.rapport/running', String(service.pid)), note)
  const installing = ensureInstalled(root, { development: false, say: () => undefined })
  await expect(installing).rejects.toThrow(`a service runs from this folder (process ${service.pid})`)
  expect(existsSync(join(root, 'node_modules/.package-lock.json'))).toBe(true)
  service.kill('SIGKILL')
})

test('npm is run once for two that start together, and its failure is told', async () => {
  lock(pino)
  const npm = join(root, 'npm-cli.js')
  const script = (body) => writeFileSync(npm, body)
  const before = process.env.npm_execpath
  process.env.npm_execpath = npm
  try {
    script('process.exit(7)')
    const failing = ensureInstalled(root, { development: false, say: () => undefined })
    await expect(failing).rejects.toThrow('npm ci failed (exit code 7)')
    script(`const fs = require('node:fs')
      fs.appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n')
      fs.mkdirSync('node_modules', { recursive: true })
      fs.writeFileSync('node_modules/.package-lock.json', ${JSON.stringify(JSON.stringify({ packages: pino }))})`)
    const start = () => ensureInstalled(root, { development: false, say: () => undefined })
    await Promise.all([start(), start(), start()])
    expect(readFileSync(join(root, 'runs'), 'utf8')).toMatch(/^ci --omit=dev [^\n]*\n$/)
  } finally {
    process.env.npm_execpath = before
    if (before === undefined) delete process.env.npm_execpath
  }
})
