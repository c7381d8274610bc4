import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { type ProcessResult, waitForExit } from './command-line.ts'
import { until } from './processes.ts'
import { statusOf } from './started-service.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const isInstalled = (program: string) => spawnSync('which', [program]).status === 0
/** Without Docker, buildah builds and runs the image. Its base is a small Debian with this machine's Node. */
const canBuild = process.getuid?.() === 0 && isInstalled('buildah') && isInstalled('debootstrap')
const certificates = '/etc/ssl/certs/ca-certificates.crt'

let folder: string
let container: string

const buildah = async (...args: string[]): Promise<string> => {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  const { stdout } = await promisify(execFile)('buildah', [...storage, ...args], {
    cwd: project,
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
    maxBuffer: 64 * 1024 * 1024,
  })
  return stdout.trim().split('\n').at(-1) ?? ''
}

async function buildBase(): Promise<void> {
  const base = join(folder, 'base')
  await promisify(execFile)('debootstrap', ['--variant=minbase', 'bookworm', base], { maxBuffer: 64 * 1024 * 1024 })
  await copyFile(process.execPath, join(base, 'usr/bin/node'))
  const { stdout } = await promisify(execFile)('npm', ['root', '--global'])
  await mkdir(join(base, 'usr/lib/node_modules'), { recursive: true })
  await cp(join(stdout.trim(), 'npm'), join(base, 'usr/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/bin/npm'))
  await mkdir(join(base, 'etc/ssl/certs'), { recursive: true })
  await copyFile(certificates, join(base, certificates))
  const from = await buildah('from', 'scratch')
  await buildah('copy', '--quiet', from, base, '/')
  const registry = (await promisify(execFile)('npm', ['config', 'get', 'registry'])).stdout.trim()
  const settings = [`NODE_EXTRA_CA_CERTS=${certificates}`, `npm_config_cafile=${certificates}`]
  const all = [...settings, `npm_config_registry=${registry}`].flatMap((one) => ['--env', one])
  await buildah('config', ...all, from)
  await buildah('commit', '--quiet', from, 'localhost/base')
  await rm(base, { recursive: true })
}

/** Runs a command of the image, as a user of the given id, with this folder of the machine as its volume. */
function start(command: readonly string[], { data, uid, env = {} }: Run): ChildProcess {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs']
  // buildah has a folder of its own for the volume /data of the image, so another one is mounted.
  const settings = Object.entries({ DATA_DIR: '/volume', ...env }).flatMap(([name, value]) => [
    '--env',
    `${name}=${value}`,
  ])
  const place = ['--isolation', 'chroot', '--network', 'host', '--volume', `${data}:/volume`, '--user', `${uid}:${uid}`]
  const words = [...storage, 'run', ...place, ...settings, container, '--', 'node', 'bin/rapport.js', ...command]
  return spawn('buildah', words, { stdio: ['ignore', 'pipe', 'pipe'] })
}

interface Run {
  data: string
  uid: number
  env?: Record<string, string>
}

const run = (command: readonly string[], options: Run): Promise<ProcessResult> => waitForExit(start(command, options))

/** The process ids below this one, outermost first. */
async function descendants(pid: number): Promise<number[]> {
  // Any thread of buildah may have started them.
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const texts = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''))
  const children = (await Promise.all(texts)).flatMap((text) => text.split(' ').filter(Boolean).map(Number))
  return [...children, ...(await Promise.all(children.map(descendants))).flat()]
}

/** Serves while `work` runs, then stops as Docker does: with a signal to the first process in the container. */
async function whileServing<Result>(options: Run, work: (url: string) => Promise<Result>): Promise<Result> {
  const port = await freePort()
  const child = start(['start'], { ...options, env: { PORT: String(port) } })
  const exit = waitForExit(child)
  try {
    const isReady = async () =>
      child.exitCode !== null || (await statusOf(`http://127.0.0.1:${port}/readyz`).catch(() => 0)) === 200
    await until('the service is ready', isReady, 90_000)
    return await work(`http://127.0.0.1:${port}`)
  } finally {
    for (const pid of await descendants(child.pid ?? 0)) {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
      if (/^(?:\/usr\/bin\/)?node\0bin\/rapport\.js\0start/.test(command)) process.kill(pid, 'SIGTERM')
    }
    const { code, errors } = await exit
    expect([code, errors]).toEqual([0, expect.stringContaining('Stopped.')])
  }
}

/** A volume as the image makes it: any user can use it. */
async function newVolume(name: string): Promise<string> {
  const data = join(folder, name)
  await mkdir(data)
  await chmod(data, 0o1777)
  return data
}

describe.skipIf(!canBuild)('the image, built by buildah', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rapport-buildah-'))
    await buildBase()
    const base = ['--build-arg', 'NODE=localhost/base', '--network', 'host', '--format', 'docker']
    await buildah('build-using-dockerfile', '--isolation', 'chroot', ...base, '--tag', 'localhost/rapport', '.')
    container = await buildah('from', 'localhost/rapport')
  }, 600_000)
  afterAll(async () => {
    await buildah('rm', '--all').catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  }, 120_000)

  test('it has no tools and is less than half as large as with them', async () => {
    const root = join(await buildah('mount', container), 'opt/rapport')
    const files = await readdir(root, { recursive: true, withFileTypes: true })
    const sizes = files.filter((file) => file.isFile()).map((file) => stat(join(file.parentPath, file.name)))
    const bytes = (await Promise.all(sizes)).reduce((total, { size }) => total + size, 0)
    expect(bytes).toBeLessThan(150_000_000)
    const packages = await readdir(join(root, 'node_modules'))
    expect(packages.filter((name) => ['esbuild', 'vite', 'rolldown', 'react', 'fastify'].includes(name))).toEqual([])
  })

  test('it starts, is backed up and restored as a user without a name', async () => {
    const data = await newVolume('data')
    const options = { data, uid: 12_345 }
    const backup = await whileServing(options, async (url) => {
      const env = { RAPPORT_PASSWORD: 'violet engine tandem', PUBLIC_URL: url }
      const words = ['bootstrap', '--email', 'ada@example.com', '--organization', 'Acme', '--json']
      const made = await run(words, { ...options, env })
      expect(made, made.errors).toMatchObject({ code: 0 })
      const { apiKey, organizationId } = JSON.parse(made.output)
      const headers = {
        authorization: `Bearer ${apiKey}`,
        'service-organization-id': organizationId,
        'content-type': 'application/json',
      }
      const body = JSON.stringify({ email: 'grace@example.com' })
      expect((await fetch(`${url}/v5/contacts`, { method: 'POST', headers, body })).status).toBe(201)
      expect((await fetch(url, { headers: { accept: 'text/html' } })).headers.get('content-type')).toContain('html')
      const taken = await run(['backup', '/volume/rapport.backup'], options)
      expect(taken, taken.errors).toMatchObject({ code: 0 })
      return { headers }
    })
    const restored = await newVolume('restored')
    for (const name of ['rapport.backup', 'secret']) await cp(join(data, name), join(restored, name))
    // As `sudo cp` would leave them, and then a person gives them to the user of the container.
    await promisify(execFile)('chown', ['-R', '54321:54321', restored])
    const others = { data: restored, uid: 54_321 }
    const done = await run(['restore', '/volume/rapport.backup', '--force'], others)
    expect(done, done.errors).toMatchObject({ code: 0 })
    await whileServing(others, async (url) => {
      const found = await fetch(`${url}/v5/contacts`, { headers: backup.headers })
      expect(await found.json()).toMatchObject([{ email: 'grace@example.com' }])
    })
  }, 240_000)
})
