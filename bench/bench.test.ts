import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../server/test/processes.ts'
import { figuresOf, type Report } from './report.ts'
import { databaseOf, parentOf, processOf } from './usage.ts'

const script = fileURLToPath(new URL('../scripts/bench.mjs', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-bench-test-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const benchFolders = async () => (await readdir(tmpdir())).filter((name) => /^rapport-bench-\w{6}$/.test(name))
const small = ['--contacts', '300', '--organizations', '3', '--seconds', '0.5', '--rounds', '1']

test(
  'a small run measures service and floor on each row, and leaves nothing behind',
  { timeout: 120_000 },
  async () => {
    const before = await benchFolders()
    const file = join(folder, 'new/figures.json')
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...small, '--json', file])
    const report = JSON.parse(await readFile(file, 'utf8')) as Report
    expect(report.rows.map(({ name, connections }) => `${name} ${connections}`)).toEqual([
      'get one 1',
      'get one 16',
      'first page of 25 1',
      'first page of 25 16',
    ])
    for (const { service, floor, ratio } of report.rows) {
      for (const figures of [service, floor]) {
        expect(figures.requestsPerSecond).toBeGreaterThan(1)
        expect(figures.p50).toBeGreaterThan(0)
        expect(figures.p99).toBeGreaterThanOrEqual(figures.p50)
        if (process.platform === 'linux') expect(figures.serviceCpu).toBeGreaterThan(0)
        if (process.platform === 'linux') expect(figures.databaseCpu).toBeGreaterThan(0)
      }
      expect(ratio).toBeCloseTo(service.requestsPerSecond / floor.requestsPerSecond)
    }
    if (process.platform === 'linux')
      expect(Object.values(report.memory).every((value) => (value ?? 0) > 10)).toBe(true)
    expect(stdout).toContain('| first page of 25 |')
    expect(await benchFolders()).toEqual(before)
  },
)

test('a run that is interrupted ends what it started', { timeout: 60_000 }, async () => {
  const before = await benchFolders()
  const child = spawn(process.execPath, [script, ...small], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until('it began', async () => (await benchFolders()).length > before.length)
  child.kill('SIGINT')
  expect(await ended).toEqual([1, null])
  expect(await benchFolders()).toEqual(before)
})

test('a mistake on the command line starts nothing and shows the help', async () => {
  const refused = promisify(execFile)(process.execPath, [script, '--contacts', 'many'])
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('--contacts takes a number') })
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--help'])
  expect(stdout).toContain('--quick')
})

test('of the rounds the middle one counts; processor time is shared by all answers', () => {
  const round = (answers: number, p50: number, serviceCpu: number | undefined) => {
    return { answers, failures: 0, seconds: 2, p50, p99: 9, serviceCpu, databaseCpu: 50 }
  }
  const { requestsPerSecond, ...others } = figuresOf([round(100, 1, 10), round(400, 3, 20), round(200, 2, 40)])
  expect(requestsPerSecond).toBe(100)
  expect(others).toEqual({ p50: 2, p99: 9, serviceCpu: 0.1, databaseCpu: 150 / 700 })
  expect(figuresOf([round(100, 1, 10), round(100, 1, undefined)]).serviceCpu).toBeNull()
})

test.runIf(process.platform === 'linux')('processor time and memory of a program grow with its work', () => {
  const program = processOf(process.pid)
  const before = program.cpu() ?? Number.NaN
  for (const deadline = performance.now() + 200; performance.now() < deadline;);
  expect(program.cpu()).toBeGreaterThan(before + 50)
  expect(program.memory()).toBeGreaterThan(10 * 1024 ** 2)
  expect(parentOf(process.pid)).toBe(process.ppid)
  expect(processOf(2 ** 30).cpu()).toBeUndefined()
  expect(databaseOf(2 ** 30).memory()).toBeUndefined()
})
