import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from './processes.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The commands of one shell block and what the README says they print. */
interface Step {
  commands: string
  expected: string
}

/** What the walk needs beside Node and npm; a machine may lack it, the one that checks for all of us may not. */
const hasTools = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0)
const canWalk = hasTools || Boolean(process.env.CI)

let folder: string
let environment: NodeJS.ProcessEnv
let steps: Step[]
let service: ChildProcess
let printed = ''

beforeAll(async () => {
  steps = readSteps(await readFile(join(root, 'README.md'), 'utf8'))
  if (!canWalk) return
  folder = await mkdtemp(join(tmpdir(), 'rapport-readme-'))
  // The database of a run as root belongs to another user, who has to come through.
  await chmod(folder, 0o711)
  const unset = { DATABASE_URL: '', PUBLIC_URL: '', AUTH_ORIGIN: '', SECRET: '', RATE_LIMIT_PER_MINUTE: '', HOST: '' }
  environment = { ...process.env, ...unset, PORT: '0', DATA_DIR: join(folder, 'data') }
  service = spawn('bash', ['-c', `exec ${steps[0]?.commands}`], { cwd: root, env: environment, detached: true })
  for (const stream of [service.stdout, service.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
    })
  }
  await until('the service listens', () => printed.includes('/v5/docs') || service.exitCode !== null, 60_000)
})

afterAll(async () => {
  if (!canWalk) return
  const ended = new Promise((resolve) => service.once('exit', resolve))
  if (service.exitCode === null && service.pid !== undefined) {
    // As Ctrl-C does it: npm and the service both get the signal.
    process.kill(-service.pid, 'SIGINT')
    await ended
  }
  await rm(folder, { recursive: true, force: true })
})

test('the walk has its steps: one that reads nothing would pass', () => {
  expect(steps.length).toBeGreaterThan(8)
  expect(steps[0]?.commands).toBe('npm start')
  expect(steps.filter(({ expected }) => expected === '')).toEqual([])
})

test.skipIf(!canWalk)('the README’s first command starts the service and prints what the README shows', () => {
  expect(normalized(printed)).toMatch(pattern(steps[0]?.expected ?? '', { whole: false }))
})

test.skipIf(!canWalk)(
  'every further command of the walk prints what the README shows',
  { timeout: 60_000 },
  async () => {
    const walk = steps.slice(1)
    const outputs = await runInOneShell(walk.map(({ commands }) => commands))
    expect(outputs).toHaveLength(walk.length)
    for (const [index, { commands, expected }] of walk.entries()) {
      expect(normalized(outputs[index] ?? ''), `what this prints:\n${commands}\n`).toMatch(pattern(expected))
    }
  },
)

test('what stands for something else does not stand for everything', () => {
  expect('{\n  "id": "con_1",\n  "a": 1,\n  "b": 2\n}').toMatch(pattern('{\n  "id": "con_…",\n  …\n}'))
  expect('{\n  "id": "con_1",\n  "a": 1\n}').not.toMatch(pattern('{\n  "id": "con_…",\n}'))
  expect('{\n  "id": "com_1"\n}').not.toMatch(pattern('{\n  "id": "con_…"\n}'))
  expect('con_\n1').not.toMatch(pattern('con_…'))
})

/** Each `sh` block of the walk with the block below it. */
function readSteps(readme: string): Step[] {
  const [, walk = ''] = readme.split('## A five-minute walk\n')
  const blocks = [...(walk.split(/^## /m)[0] ?? '').matchAll(/^```(\w*)\n(.*?)^```$/gms)]
  return blocks.flatMap(([, language, text], index) => {
    if (language !== 'sh') return []
    const [, nextLanguage, next = ''] = blocks[index + 1] ?? []
    return [{ commands: (text ?? '').trim(), expected: nextLanguage === '' ? next.trim() : '' }]
  })
}

/** Variables and functions of one step are there in the next one, as for the reader. */
async function runInOneShell(steps: readonly string[]): Promise<string[]> {
  const mark = `end of step ${process.pid}`
  const shell = spawn('bash', ['-o', 'pipefail'], { cwd: root, env: environment })
  let output = ''
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const ended = new Promise((resolve) => shell.once('close', resolve))
  shell.stdin.end(steps.map((commands) => `${commands}\nprintf '\\n%s\\n' '${mark}'\n`).join(''))
  await ended
  return output.split(`\n${mark}\n`).slice(0, -1)
}

/** The walk is written for the default port. */
const normalized = (output: string): string => output.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:4000').trim()

/** `…` within a line stands for some text without a line break; alone on its line for any number of lines. */
function pattern(expected: string, { whole = true } = {}): RegExp {
  const escape = (text: string) => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  const lines = expected.split('\n').map((line) => {
    return line.trim() === '…' ? '(?:.*\n)+?' : `${line.split('…').map(escape).join('.+')}\n`
  })
  const text = lines.join('').replace(/\n$/, '')
  return new RegExp(whole ? `^${text}$` : text)
}
