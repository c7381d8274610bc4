import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../lab/shared/free-port.ts'
import { root } from './run.mjs'

const run = promisify(execFile)
/** An empty folder with the installed package, as for a person without a copy of the repository. */
let folder
let installation
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rapport-package-'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: root })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const file = join(folder, stdout.trim().split('\n').at(-1))
  const strict = ['--engine-strict', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  installation = await run('npm', ['install', ...strict, file], { cwd: folder })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the package installs with --engine-strict and without a warning on the Node that runs this test', () => {
  expect(installation.stderr).not.toMatch(/EBADENGINE|npm warn/)
})

test('the installed package contains no tool, source or test', () => {
  const installed = join(folder, 'node_modules/rapport')
  expect(readdirSync(join(installed, 'server')).sort()).toEqual(['data', 'dist', 'schema'])
  expect(readdirSync(join(installed, 'web'))).toEqual(['dist'])
  expect(readdirSync(join(installed, 'scripts'))).not.toContain('build.mjs')
  const tools = ['esbuild', 'vite', 'rolldown', 'react', 'react-dom', 'typescript', 'vitest', '@rapport']
  expect(tools.filter((name) => existsSync(join(folder, 'node_modules', name)))).toEqual([])
})

test('no script of ours runs when packages are installed, with or without --ignore-scripts', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const events = ['preinstall', 'install', 'postinstall', 'preprepare', 'prepare', 'postprepare', 'dependencies']
  expect(Object.keys(scripts).filter((name) => events.includes(name))).toEqual([])
})

test('`npx rapport start` runs the installed package: the application, its files, its OpenAPI document and the database', async () => {
  const port = await freePort()
  const child = spawn('npx', ['--no-install', 'rapport', 'start'], {
    cwd: folder,
    detached: true,
    env: { ...process.env, NODE_ENV: 'production', PORT: String(port), DATA_DIR: join(folder, 'data') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  // The service writes to the same pipes.
  const ended = new Promise((resolve) => child.once('close', resolve))
  // Ctrl-C in a terminal reaches the whole process group.
  const stop = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGINT')
    return ended
  }
  onTestFinished(stop)
  const url = `http://127.0.0.1:${port}`
  while (child.exitCode === null && !output.includes('Rapport listens on')) await delay(50)
  expect(output).toContain(`Rapport listens on ${url}`)
  expect(output).toContain('npx rapport bootstrap')
  expect((await fetch(`${url}/readyz`)).status).toBe(200)
  const page = await fetch(url, { headers: { accept: 'text/html,*/*;q=0.8' } })
  const html = await page.text()
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(html) ?? []
  const asset = await fetch(`${url}${script}`, { headers: { 'accept-encoding': 'br' } })
  expect([asset.status, asset.headers.get('cache-control'), asset.headers.get('content-encoding')]).toEqual([
    200,
    'public, max-age=31536000, immutable',
    'br',
  ])
  for (const path of ['/docs', '/docs/guides/api.md', '/docs/SECURITY.md', '/docs/CHANGELOG.md']) {
    const guide = await fetch(`${url}${path}`)
    expect([path, guide.status, (await guide.text()).includes('<h1')]).toEqual([path, 200, true])
  }
  const document = JSON.parse(readFileSync(join(folder, 'node_modules/rapport/openapi.json'), 'utf8'))
  expect(await (await fetch(`${url}/v5/docs`)).json()).toEqual(document)
  await stop()
  expect(output).toContain('Stopped.')
})
