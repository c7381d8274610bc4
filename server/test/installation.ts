import { execFileSync, spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { freePort } from '../../lab/shared/free-port.ts'
import { type ProcessResult, waitForExit } from './command-line.ts'
import { serversIn } from './data-directory.ts'
import { installProduction } from './image.ts'
import { until } from './processes.ts'
import { statusOf } from './started-service.ts'
import { root as project } from './walkthrough.ts'

/** The user of the service: "daemon", because PostgreSQL needs an account with a name, or the one who runs the tests. */
const isRoot = process.getuid?.() === 0
const account = isRoot ? { uid: 1, gid: 1 } : undefined
export const serviceUser = isRoot ? 'daemon' : userInfo().username
const group = isRoot ? 'daemon' : execFileSync('id', ['-gn'], { encoding: 'utf8' }).trim()

/** The installation of the guide self-hosting.md ("systemd") in a folder that represents the root of the machine. */
export interface Installation {
  /** The folder for a path of the guides, such as `/var/backups`. */
  at(path: string): string
  /** A text of the guides with the paths, the user and the ports of this machine. */
  adapt(text: string): string
  /** Runs a command in a shell as the person who installs the service (root, if root runs the tests). */
  run(command: string): Promise<ProcessResult>
  /** Runs a command in a shell as the service's user, with only these settings. */
  runAsUser(command: string, options?: UserOptions): Promise<ProcessResult>
  /** Starts the service as its user. Resolves when it is ready, to a function that stops it. */
  start(): Promise<() => Promise<void>>
  remove(): Promise<void>
}

export interface UserOptions {
  folder?: string
  environment?: Record<string, string>
}

/** Installs the built package and its packages, which this machine already has. */
export async function install(): Promise<Installation> {
  const root = await mkdtemp(join(tmpdir(), 'rapport-installation-'))
  await chmod(root, 0o755)
  const at = (path: string) => join(root, path)
  for (const path of ['/opt/rapport', '/var/lib', '/var/backups', '/programs', '/mnt']) {
    await mkdir(at(path), { recursive: true })
  }
  await copyPackage(at('/opt/rapport'))
  await writeSudo(at('/programs/sudo'))
  const [port, drillPort] = [await freePort(), await freePort()]
  const environment = { PATH: `${at('/programs')}:${dirname(process.execPath)}:/usr/bin:/bin:/usr/sbin`, TZ: 'UTC' }
  const adapt = (text: string) =>
    text
      .replaceAll(/(?<=[\s=:'"])\/(?=opt\/rapport|var\/lib\/rapport|var\/backups|mnt\/|srv\/)/g, `${root}/`)
      .replaceAll(/(?<=-[uo] |User=)rapport(?![\w-])/g, serviceUser)
      .replaceAll(/(?<=-g )rapport\b/g, group)
      .replaceAll('PORT=4001', `PORT=${drillPort}`)
  const shell = (command: string, { folder = root, environment: more = {} }: UserOptions, as: typeof account) =>
    spawn('bash', ['--norc', '-ec', command], {
      cwd: folder,
      env: { ...environment, ...more },
      ...as,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  return {
    at,
    adapt,
    run: (command) => waitForExit(shell(command, {}, undefined)),
    runAsUser: (command, options = {}) => waitForExit(shell(command, options, account)),
    async start() {
      const settings = { DATA_DIR: at('/var/lib/rapport-data'), PORT: String(port), DRAIN_MILLISECONDS: '0' }
      const child = shell(
        'exec node bin/rapport.js start',
        { folder: at('/opt/rapport'), environment: settings },
        account,
      )
      const ended = waitForExit(child)
      await until(
        'the service is ready',
        async () => child.exitCode !== null || (await statusOf(`http://127.0.0.1:${port}/readyz`)) === 200,
        60_000,
      )
      if (child.exitCode !== null) throw new Error((await ended).errors)
      return async () => {
        child.kill('SIGTERM')
        await ended
      }
    },
    async remove() {
      for (const pid of await serversIn(root)) process.kill(pid, 'SIGKILL')
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}

async function copyPackage(folder: string): Promise<void> {
  const { files } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as { files: string[] }
  for (const pattern of ['package.json', ...files]) {
    if (pattern.startsWith('!')) continue
    const parent = dirname(pattern)
    const prefix = basename(pattern).replace(/\*$/, '')
    const names = (await readdir(join(project, parent))).filter((name) =>
      pattern.endsWith('*') ? name.startsWith(prefix) : name === prefix,
    )
    for (const name of names) await cp(join(project, parent, name), join(folder, parent, name), { recursive: true })
  }
  await installProduction(project, folder)
}

/** Like sudo, which a machine may lack: `sudo -u <user> NAME=value… <command>`, without the caller's settings. */
async function writeSudo(file: string): Promise<void> {
  const become = isRoot ? 'setpriv --reuid="$2" --regid="$2" --init-groups ' : ''
  await writeFile(
    file,
    `#!/bin/sh\n[ "$1" = -u ] || exit 64\nexec ${become}env -i PATH="$PATH" "\${@:3}"\n`.replace(
      '/bin/sh',
      '/bin/bash',
    ),
  )
  await chmod(file, 0o755)
}
