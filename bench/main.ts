import { resolve } from 'node:path'
import { cleanUp } from './cleanup.ts'
import { measureCreates } from './creates.ts'
import { fill } from './data.ts'
import { type BenchOptions, BenchUsageError, help, readOptions } from './options.ts'
import type { Plan } from './plans.ts'
import { measureBusyPushes, measurePushes } from './pushes.ts'
import { measureReads } from './reads.ts'
import { machine, megabytes, type Report, type Row, writeReport } from './report.ts'
import { readNames, rowNames } from './row-names.ts'
import { type Sample, takeSample } from './sample.ts'
import { makePlace, type Place } from './service.ts'
import { openStage, type Stage } from './stage.ts'
import { describe } from './table.ts'
import { targetsOf } from './targets.ts'
import { measureWork } from './work.ts'

/** The benchmark. Resolves to the exit code. */
export async function main(words: readonly string[], root: string): Promise<number> {
  try {
    const options = readOptions(words)
    if (!options) console.log(help)
    else await Promise.race([measure(options, root), interrupted()])
    return 0
  } catch (error) {
    console.error(error instanceof BenchUsageError ? `${error.message}\n\n${help}` : error)
    return error instanceof BenchUsageError ? 2 : 1
  } finally {
    await cleanUp()
  }
}

function interrupted(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error(signal)))
  })
}

/** Rows that are measured on one start of the service. */
interface Part {
  settings: Record<string, string>
  rows: readonly string[]
  measure(stage: Stage, names: readonly string[], sample: Sample): Promise<{ rows: Row[]; plans?: Plan[] }>
}

const parts: readonly Part[] = [
  { settings: {}, rows: readNames, measure: measureReads },
  { settings: {}, rows: [rowNames.created], measure: async (stage) => ({ rows: await measureCreates(stage) }) },
  {
    // Else the work on what is pushed would be measured too.
    settings: { IMPORT_WORKERS: '0' },
    rows: [rowNames.pushed],
    measure: async (stage, _, sample) => ({ rows: await measurePushes(stage, sample) }),
  },
  {
    settings: {},
    rows: [rowNames.worked, rowNames.busy],
    measure: async (stage, names, sample) => ({
      rows: [
        ...(names.includes(rowNames.worked) ? await measureWork(stage, sample) : []),
        ...(names.includes(rowNames.busy) ? await measureBusyPushes(stage, sample) : []),
      ],
    }),
  },
]

async function measure(options: BenchOptions, root: string): Promise<void> {
  const say = (line: string) => console.error(line)
  const isAsked = (name: string) => options.rows.length === 0 || options.rows.some((text) => name.includes(text))
  const asked = parts.filter(({ rows }) => rows.some(isAsked))
  if (asked.length === 0) throw new BenchUsageError(`No row has "${options.rows.join('", "')}" in its name.`)
  const place = await makePlace(root, options.profile && resolve(options.profile))
  const { account, sample, report } = await prepare(place, options, say)
  for (const part of asked) {
    const stage = await openStage({ place, account, settings: part.settings, options, say })
    report.warmStarts.push(stage.startSeconds)
    report.memory.serviceAtStart ??= megabytes(stage.service.program.memory())
    report.memory.databaseAtStart ??= megabytes(stage.database.memory())
    const { rows, plans = [] } = await part.measure(stage, part.rows.filter(isAsked), sample)
    report.rows.push(...rows)
    report.plans.push(...plans)
    report.memory.serviceAtEnd = megabytes(stage.service.program.memory())
    report.memory.databaseAtEnd = megabytes(stage.database.memory())
    await stage.close()
  }
  report.targets = targetsOf(report)
  console.log(`\n${describe(report)}`)
  if (options.json !== undefined) await writeReport(options.json, report)
}

/** Makes the database and fills it; every start after that is a warm one. */
async function prepare(place: Place, options: BenchOptions, say: (line: string) => void) {
  const stage = await openStage({ place, account: undefined, settings: {}, options, say })
  const { account, client, connection, measured, version } = stage
  const { contacts, organizations } = options
  await fill({ client, connection, contacts, organizations, measured, say })
  const sample = await takeSample(client, measured.organizationId, Math.ceil(options.queue / 2) * options.rounds)
  await stage.close()
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: machine(version),
    options,
    rows: [],
    plans: [],
    targets: [],
    warmStarts: [],
    memory: { serviceAtStart: null, databaseAtStart: null, serviceAtEnd: null, databaseAtEnd: null },
  }
  return { account, sample, report }
}
