import { resolve } from 'node:path'
import { runCommand } from '../tools/command.ts'
import { machine, writeReport } from '../tools/report.ts'
import { fill } from './data.ts'
import { type BenchOptions, help, readOptions } from './options.ts'
import { partsOf } from './parts.ts'
import { megabytes, type Report } from './report.ts'
import { rowsWith } from './row-names.ts'
import { takeSample } from './sample.ts'
import { makePlace, type Place } from './service.ts'
import { openStage, type Stage } from './stage.ts'
import { describe } from './table.ts'
import { targetsOf } from './targets.ts'

/** The benchmark. Resolves to the exit code. */
export const main = (words: readonly string[], root: string): Promise<number> =>
  runCommand(words, { help, readOptions, run: (options) => measure(options, root) })

const memoryOf = ({ service, database }: Stage) => ({
  service: megabytes(service.program.memory()),
  database: megabytes(database.memory()),
})

async function measure(options: BenchOptions, root: string): Promise<number> {
  const say = (line: string) => console.error(line)
  const parts = partsOf(rowsWith(options.rows))
  const place = await makePlace(root, options.profile && resolve(options.profile))
  const { account, sample, report } = await prepare(place, options, say)
  for (const part of parts) {
    const stage = await openStage({ place, account, settings: part.settings, options, say })
    const atStart = memoryOf(stage)
    const { rows, plans = [] } = await part.measure(stage, part.rows, sample)
    report.rows.push(...rows)
    report.plans.push(...plans)
    report.starts.push({ rows: part.rows, seconds: stage.startSeconds, atStart, atEnd: memoryOf(stage) })
    await stage.close()
  }
  report.targets = targetsOf(report)
  console.log(`\n${describe(report)}`)
  if (options.json !== undefined) await writeReport(options.json, report)
  return 0
}

/** Makes the database and fills it; every start after that is a warm one. */
async function prepare(place: Place, options: BenchOptions, say: (line: string) => void) {
  const stage = await openStage({ place, account: undefined, settings: {}, options, say })
  const { account, client, connection, measured, version } = stage
  const { contacts, organizations } = options
  await fill({ client, connection, contacts, organizations, measured, say })
  const emails = Math.ceil(options.queue / 2) * (options.rounds + 1)
  const sample = await takeSample(client, measured.organizationId, emails)
  await stage.close()
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: machine(version),
    options,
    rows: [],
    plans: [],
    targets: [],
    starts: [],
  }
  return { account, sample, report }
}
