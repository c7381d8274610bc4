import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './processes.ts'
import { recording } from './recorded-statements.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The commands of one shell block and the output that the document shows. */
export interface Step {
  commands: string
  expected: string
}

/** A developer's machine may lack these tools; in CI they are required. */
const hasTools = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)
export const canRunWalkthrough = hasTools || Boolean(process.env.CI)

/** Each `sh` block of a text with the block below it. */
export function readSteps(text: string): Step[] {
  const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)]
  return blocks.flatMap(([, language, commands], index) => {
    if (language !== 'sh') return []
    const [, nextLanguage, next = ''] = blocks[index + 1] ?? []
    return [{ commands: (commands ?? '').trim(), expected: nextLanguage === '' ? next.trim() : '' }]
  })
}

/** A service that was started with the documented command, and a shell for further commands. */
export interface Walkthrough {
  /** What the service has printed so far. */
  printed(): string
  /** Runs the steps in one shell, so that variables of one step exist in the next. Returns the output of each. */
  run(steps: readonly Step[]): Promise<string[]>
  stop(): Promise<void>
}

/** Starts the service in the project's folder, with an empty data folder and any free port. */
export async function startWalkthrough(command: string): Promise<Walkthrough> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-walkthrough-'))
  // If we run as root, the database runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711)
  // Bootstrap takes the zone of the machine, and the guides print times.
  const unset = {
    TZ: 'UTC',
    DATABASE_URL: '',
    PUBLIC_URL: '',
    AUTH_ORIGIN: '',
    SECRET: '',
    RATE_LIMIT_PER_MINUTE: '',
    HOST: '',
  }
  const environment = { ...process.env, ...recording, ...unset, PORT: '0', DATA_DIR: join(folder, 'data') }
  const service = spawn('bash', ['-c', `exec ${command}`], { cwd: root, env: environment, detached: true })
  let printed = ''
  collect(service, (chunk) => (printed += chunk))
  await until('the service listens', () => printed.includes('/v5/docs') || service.exitCode !== null, 60_000)
  return {
    printed: () => printed,
    run: (steps) => runInOneShell(steps, environment),
    async stop() {
      const ended = new Promise((resolve) => service.once('close', resolve))
      if (service.exitCode === null && service.pid !== undefined) {
        // Like Ctrl-C, this signals npm and the service.
        process.kill(-service.pid, 'SIGINT')
        await ended
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function runInOneShell(steps: readonly Step[], environment: NodeJS.ProcessEnv): Promise<string[]> {
  const mark = `end of step ${process.pid}`
  const shell = spawn('bash', ['-o', 'pipefail'], { cwd: root, env: environment })
  let output = ''
  collect(shell, (chunk) => (output += chunk))
  const ended = new Promise((resolve) => shell.once('close', resolve))
  shell.stdin.end(steps.map(({ commands }) => `${commands}\nprintf '\\n%s\\n' '${mark}'\n`).join(''))
  await ended
  return output.split(`\n${mark}\n`).slice(0, -1)
}

function collect({ stdout, stderr }: ChildProcess, take: (chunk: string) => void): void {
  for (const stream of [stdout, stderr]) stream?.setEncoding('utf8').on('data', take)
}

/** Documents use the default port. */
export const normalized = (output: string): string => output.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:4000').trim()

/** `…` within a line matches some text without a line break; alone on its line it matches any number of lines. */
export function pattern(expected: string, { whole = true } = {}): RegExp {
  const escape = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  const lines = expected.split('\n').map((line) => {
    return line.trim() === '…' ? '(?:.*\n)+?' : `${line.split('…').map(escape).join('.+')}\n`
  })
  const text = lines.join('').replace(/\n$/, '')
  return new RegExp(whole ? `^${text}$` : text)
}
