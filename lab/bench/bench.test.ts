import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parsePush } from '../../server/src/intake/payload/payload.ts'
import { chromium } from '../../server/test/chromium.ts'
import { until } from '../../server/test/processes.ts'
import { reachNames, readNames, rowNames, suggestionNames, tenantNames } from './row-names.ts'
import { floorName, interactionNames } from './interactions.ts'
import { generateQueue, generateTemplates } from './leads.ts'
import { watchMemory } from './measure.ts'
import { help, parseOptions } from './options.ts'
import { type Figures, figuresOf, type Report } from './report.ts'
import type { JsonObject } from '../../server/src/platform/model/json.ts'

const script = fileURLToPath(new URL('../../scripts/bench.mjs', import.meta.url))

let folder: string
/** Temporary folder of this run's benchmark, separate from concurrent runs of this test. */
let temporary: string
let env: NodeJS.ProcessEnv
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-bench-test-'))
  temporary = join(folder, 'tmp')
  await mkdir(temporary)
  // As root, the database runs as another user, who needs access through this folder.
  for (const path of [folder, temporary]) await chmod(path, 0o711)
  env = { ...process.env, TMPDIR: temporary, TEMP: temporary }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const benchFolders = async () => (await readdir(temporary)).filter((name) => name.startsWith('rapport-bench-'))
const small = '--contacts 120 --organizations 3 --connections 2 --seconds 0.02 --rounds 1 --queue 60'.split(' ')
const isLinux = process.platform === 'linux'

function assertMeasured(row: string, { perSecond, p50, p99, serviceCpu, databaseCpu }: Figures): void {
  expect(perSecond).toBeGreaterThan(0)
  if (withoutRequests.includes(row)) expect([p50, p99]).toEqual([null, null])
  else {
    expect(p50).toBeGreaterThan(0)
    expect(p99).toBeGreaterThanOrEqual(p50 ?? Number.NaN)
  }
  // A short turn may take less than one clock tick.
  if (isLinux && !inProcess.includes(row))
    expect(Math.min(serviceCpu ?? -1, databaseCpu ?? -1)).toBeGreaterThanOrEqual(0)
}

const { one, page, deep, deepByLink, email, created } = rowNames
/** All rows except those measured in a browser. */
const requestRows = Object.values(rowNames).filter((name) => name !== rowNames.interactions)
const processed: readonly string[] = [rowNames.processed, rowNames.processedOfTwo]
const compared: readonly string[] = [rowNames.createHistory, rowNames.changeHistory, ...reachNames]
/** Rows measured by the bench's own process. */
const inProcess = [...compared, ...suggestionNames]
const withoutRequests = [...processed, rowNames.delivered, ...inProcess]
/** Nothing else does the same. */
const withoutFloor: readonly string[] = [rowNames.busy, rowNames.delivered]
/** One connection and neither driver nor memory, which these rows do not compare. */
const nextTo = tenantNames
const searches = [rowNames.property, rowNames.commonProperty, rowNames.rare, rowNames.common, rowNames.absent]
/** Pushes only have a target at 64 connections. */
const expectedTargets = [
  ...[one, page, email, created, rowNames.createdWithCompany, ...compared.slice(0, -2)].map(
    (name) => `${name}: ratio to the floor`,
  ),
  ...[rowNames.createdWithCompany, rowNames.changed].map((name) => `${name}: CPU ms of service and database`),
  ...[...processed, rowNames.delivered].map((name) => `${name}: per second`),
  ...[deep, deepByLink].map((name) => `${name}: p50 relative to the first page`),
  ...nextTo.map((name) => `${name}: p50 relative to that alone`),
  ...[...searches, rowNames.query].map((name) => `${name}: p50 ms`),
  ...readNames.slice(2, 11).map((name) => `${name}: plan`),
  ...(chromium ? interactionNames.map((name) => `${name}: p75 ms`) : []),
  ...(isLinux ? ['maximum memory of the service, MB', 'memory in the second half of a row, MB'] : []),
  ...(isLinux ? ['maximum memory after a start, MB'] : []),
  'warm start, s',
]

test('a small run measures each row and removes its temporary files', { timeout: 240_000 }, async () => {
  const file = join(folder, 'new/figures.json')
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...small, '--json', file], { env })
  const report = JSON.parse(await readFile(file, 'utf8')) as Report
  expect(report.rows.map(({ name, connections }) => `${name} ${connections}`)).toEqual(
    requestRows.map((name) => `${name} ${withoutRequests.includes(name) ? null : nextTo.includes(name) ? 1 : 2}`),
  )
  for (const { name, service, floor, driver, ratio, memory, databaseMemory } of report.rows) {
    for (const figures of [service, floor, driver]) if (figures) assertMeasured(name, figures)
    expect([floor === null, driver === null]).toEqual([
      withoutFloor.includes(name),
      name === rowNames.busy || name === rowNames.moved || withoutRequests.includes(name) || nextTo.includes(name),
    ])
    expect(ratio).toEqual(floor && service.perSecond / floor.perSecond)
    if (isLinux && !inProcess.includes(name) && !nextTo.includes(name))
      expect(Math.min(memory[0] ?? 0, memory[1] ?? 0, databaseMemory ?? 0)).toBeGreaterThan(10)
  }
  if (isLinux) expect(report.rows.some(({ service }) => (service.serviceCpu ?? 0) > 0)).toBe(true)
  expect(report.rows.flatMap(({ name, meanwhile }) => (meanwhile === undefined ? [] : [name, meanwhile]))).toEqual([
    rowNames.busy,
    expect.any(Number),
  ])
  expect(report.plans.map(({ name }) => name)).toEqual(readNames.slice(2, 11))
  expect(report.starts.flatMap(({ rows }) => rows)).toEqual(Object.values(rowNames))
  expect(report.starts).toHaveLength(6)
  expect(report.interactions.map(({ name }) => name)).toEqual(chromium ? [floorName, ...interactionNames] : [])
  for (const { p50, p75, max } of report.interactions) {
    expect([p50, p75, max]).toEqual([p50, p75, max].toSorted((one, other) => one - other))
    expect(p50).toBeGreaterThan(0)
  }
  for (const { seconds, atStart, atEnd } of report.starts) {
    expect(seconds).toBeGreaterThan(0)
    if (isLinux) expect([atStart, atEnd].flatMap(Object.values).filter((value) => !(value > 10))).toEqual([])
  }
  expect(report.targets.map(({ name }) => name)).toEqual(expectedTargets)
  for (const text of ['| rows processed ', '| service start ', '| plan of ', '| target '])
    expect(stdout).toContain(text)
  expect(await benchFolders()).toEqual([])
})

test('creates and pushes are measured with one process and with two', { timeout: 120_000 }, async () => {
  const file = join(folder, 'processes.json')
  const parameters = [
    script,
    ...small,
    '--row',
    created,
    '--row',
    rowNames.pushed,
    '--processes',
    '1,2',
    '--json',
    file,
  ]
  await promisify(execFile)(process.execPath, parameters, { env })
  const { rows } = JSON.parse(await readFile(file, 'utf8')) as Report
  const measured = [created, rowNames.createdWithCompany, rowNames.pushed, rowNames.busy]
  expect(rows.map(({ name }) => name)).toEqual([...measured, ...measured])
  expect(rows.filter(({ service }) => !(service.perSecond > 0))).toEqual([])
})

test('a folder keeps the filled database for later runs of as many contacts', { timeout: 120_000 }, async () => {
  const kept = join(folder, 'kept')
  const run = (...more: string[]) =>
    promisify(execFile)(process.execPath, [script, ...small, '--row', created, '--folder', kept, ...more], { env })
  const file = join(folder, 'first.json')
  await run('--json', file)
  const { stdout, stderr } = await run('--compare', file)
  expect(stderr).not.toContain('Building the indexes')
  expect(stdout).toContain('create: p50 relative to 120 contacts')
  await expect(run('--contacts', '130')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has 120 contacts of 3 organizations. Ask for as many.'),
  })
  await rm(join(kept, 'filled.json'))
  await expect(run()).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('did not finish filling') })
  expect(() => parseOptions(['--folder', kept, '--database', 'postgres://'])).toThrow('cannot be combined')
})

test('an interrupted run stops its processes and removes its files', { timeout: 60_000 }, async () => {
  const child = spawn(process.execPath, [script, ...small], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  await until('the benchmark has created its folder', async () => (await benchFolders()).length > 0)
  // Twice, because npm and the terminal both send the signal.
  for (let times = 0; times < 2; times++) child.kill('SIGINT')
  expect(await ended).toEqual([1, null])
  expect(await benchFolders()).toEqual([])
})

test('an invalid command line starts nothing and prints the help', async () => {
  const refused = promisify(execFile)(process.execPath, [script, '--row', 'get nothing'], { env })
  const said = `No row name contains "get nothing".\n\n${help}`
  await expect(refused).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(said) })
  expect(await benchFolders()).toEqual([])
  expect(() => parseOptions(['--contacts', 'many'])).toThrow('--contacts takes a whole number of at least 1.')
  expect(() => parseOptions(['--connections', '1,none'])).toThrow('--connections takes a whole number of at least 1.')
  expect(parseOptions(['--help'])).toBeUndefined()
})

test('figures are medians of the rounds, and processor time is divided by all responses', () => {
  const round = (responses: number, p50: number, serviceCpu: number | undefined) => {
    return { responses, seconds: 2, p50, p99: 9, serviceCpu, databaseCpu: 50 }
  }
  const { perSecond, ...others } = figuresOf([round(100, 1, 10), round(400, 3, 20), round(200, 2, 40)])
  expect(perSecond).toBe(100)
  expect(others).toEqual({ p50: 2, p99: 9, serviceCpu: 0.1, databaseCpu: 150 / 700 })
  expect(figuresOf([round(100, 1, 10), round(100, 1, undefined)]).serviceCpu).toBeNull()
})

const existing = {
  emails: ['ada@example.com', 'alan@example.com'],
  companies: [{ name: 'Berlin Tea 1', domain: 'berlin-tea-1.example' }],
}

test('every second lead of a queue is about an existing person, and every lead is valid', () => {
  const queue = generateQueue(existing, 6, 1000)
  const emails = queue.map(emailOf)
  expect([emails[1], emails[3]]).toEqual(existing.emails)
  expect(new Set([...emails, ...generateQueue(existing, 6, 2000).map(emailOf)]).size).toBe(10)
  for (const lead of [...queue, ...generateTemplates(existing, 50, '00000000')]) {
    const size = JSON.stringify(lead).length
    expect(size).toBeGreaterThan(500)
    expect(size).toBeLessThan(700)
    expect(parsePush(lead, {})).toMatchObject({ lead: { warnings: [], errors: [] } })
  }
})

const emailOf = ({ contact }: JsonObject): string => (contact as { email: string }).email

test.runIf(isLinux)('the maximum memory is reported for both halves of the time', async () => {
  let megabytes = 0
  const stopWatching = watchMemory({ memory: () => ++megabytes })
  await until('it has taken a few samples', async () => megabytes >= 4)
  const bounds = stopWatching()
  expect(bounds).toEqual([megabytes >> 1, megabytes])
})
