import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { runCommand, UsageError } from '../shared/command.ts'
import { currentMachine, publish } from '../shared/report.ts'
import { drawChart } from './chart.ts'
import { skipRecordingsOf } from './creates.ts'
import { fill } from './data.ts'
import { defineProperties } from './indexed-properties.ts'
import { type Filled, readFilled, writeFilled } from './kept.ts'
import { skipNumbersOf } from './measure.ts'
import { type BenchOptions, help, parseOptions } from './options.ts'
import { partsOf } from './parts.ts'
import { toMegabytes, type Report } from './report.ts'
import { rowsWith } from './row-names.ts'
import { takeSample } from './sample.ts'
import { type BenchWorkspace, createBenchWorkspace } from './service.ts'
import { startTestbed, type Testbed } from './stage.ts'
import { describe } from './table.ts'
import { targetsOf } from './targets.ts'

/** The benchmark. Resolves to the exit code. */
export const main = (args: readonly string[], root: string): Promise<number> =>
  runCommand(args, { help, readOptions: parseOptions, run: (options) => benchmark(options, root) })

async function fillTestbed(stage: Testbed): Promise<void> {
  const { client, connection, measured, log, options } = stage
  const { contacts, organizations } = options
  await defineProperties(stage)
  await fill({ client, connection, contacts, organizations, measured, log })
}

/** Records the run before it creates anything. */
async function countRun(workspace: BenchWorkspace, { contacts, organizations, account, runs }: Filled): Promise<void> {
  skipNumbersOf(runs)
  skipRecordingsOf(runs)
  await writeFilled(workspace, { contacts, organizations, account, runs: runs + 1 })
}

const memoryOf = ({ service, database }: Testbed) => ({
  service: toMegabytes(service.program.memory()),
  database: toMegabytes(database.memory()),
})

async function benchmark(options: BenchOptions, root: string): Promise<number> {
  const report: Report = options.from ? JSON.parse(await readFile(options.from, 'utf8')) : await measure(options, root)
  if (options.chart === undefined) return 0
  const chart = drawChart(report)
  if (chart === undefined) throw new UsageError('--chart: no row of the report has both the service and its floor')
  await writeFile(options.chart, chart)
  return 0
}

async function measure(options: BenchOptions, root: string): Promise<Report> {
  const log = (line: string) => console.error(line)
  const parts = partsOf(rowsWith(options.rows))
  const earlier =
    options.compare === undefined ? undefined : (JSON.parse(await readFile(options.compare, 'utf8')) as Report)
  const workspace = await createBenchWorkspace(root, {
    database: options.database,
    folder: options.folder,
    profile: options.profile && resolve(options.profile),
  })
  const { account, sample, report } = await prepare(workspace, options, log)
  for (const processes of options.processes) {
    for (const part of parts) {
      const settings = { ...part.settings, PROCESSES: String(processes) }
      const stage = await startTestbed({ workspace, account, settings, options, log })
      const atStart = memoryOf(stage)
      const { rows, plans = [], interactions = [] } = await part.measure(stage, part.rows, sample)
      report.rows.push(...rows.map((row) => ({ ...row, processes })))
      report.plans.push(...plans)
      report.interactions.push(...interactions)
      report.starts.push({ rows: part.rows, processes, seconds: stage.startSeconds, atStart, atEnd: memoryOf(stage) })
      await stage.close()
    }
  }
  const singleProcess = <Of extends { processes?: number }>(all: Of[]) => all.filter(({ processes }) => processes === 1)
  const measured = { ...report, rows: singleProcess(report.rows), starts: singleProcess(report.starts) }
  report.targets = targetsOf(measured, earlier)
  await publish(describe(report), report, options.json)
  return report
}

/** Creates and fills the database; every later start is a warm one. */
async function prepare(workspace: BenchWorkspace, options: BenchOptions, log: (line: string) => void) {
  const filled = options.folder === undefined ? undefined : await readFilled(workspace, options)
  const stage = await startTestbed({ workspace, account: filled?.account, settings: {}, options, log })
  const { account, client, measured, version } = stage
  if (!filled) await fillTestbed(stage)
  if (options.folder !== undefined) await countRun(workspace, filled ?? { ...options, account, runs: 0 })
  const emails = Math.ceil(options.queue / 2) * (options.rounds + 1)
  const sample = await takeSample(client, measured.organizationId, emails)
  await stage.close()
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: currentMachine(version),
    options,
    rows: [],
    plans: [],
    interactions: [],
    targets: [],
    starts: [],
  }
  return { account, sample, report }
}
