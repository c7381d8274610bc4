import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanUp } from './cleanup.ts'
import { fill, type Sample, sample } from './data.ts'
import { runFloor } from './floor.ts'
import { runLoad } from './load.ts'
import { type BenchOptions, BenchUsageError, help, readOptions } from './options.ts'
import { busyPushRow, measureBusyPushes, measurePushes, pushRow } from './pushes.ts'
import { measureReads, readRows } from './reads.ts'
import { describe, machine, megabytes, type Report, type Row, writeReport } from './report.ts'
import { makePlace } from './service.ts'
import { openStage, type Stage } from './stage.ts'
import { measureWork, workRow } from './work.ts'

/** The benchmark; this same file is the program of its load generator and its floor. Resolves to the exit code. */
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
  measure(stage: Stage, names: readonly string[], known: Sample): Promise<Row[]>
}

const parts: readonly Part[] = [
  { settings: {}, rows: readRows.names, measure: (stage, names, { ids }) => measureReads(stage, names, ids) },
  // Else the work on what is pushed would be measured too.
  { settings: { IMPORT_WORKERS: '0' }, rows: [pushRow], measure: (stage, _, known) => measurePushes(stage, known) },
  {
    settings: {},
    rows: [workRow, busyPushRow],
    measure: async (stage, names, known) => [
      ...(names.includes(workRow) ? await measureWork(stage, known) : []),
      ...(names.includes(busyPushRow) ? await measureBusyPushes(stage, known) : []),
    ],
  },
]

async function measure(options: BenchOptions, root: string): Promise<void> {
  const say = (line: string) => console.error(line)
  const place = await makePlace(root, options.profile && resolve(options.profile))
  const rows: Row[] = []
  let report: Report | undefined
  let known: Sample | undefined
  let account: Stage['account'] | undefined
  for (const part of parts) {
    const names = part.rows.filter((name) => name.includes(options.row))
    if (names.length === 0) continue
    const stage = await openStage({ place, account, settings: part.settings, options, say })
    account = stage.account
    report ??= begin(stage)
    known ??= await fillAndSample(stage)
    rows.push(...(await part.measure(stage, names, known)))
    report = { ...report, rows, memory: { ...report.memory, ...end(stage) } }
    await stage.close()
  }
  if (!report) throw new BenchUsageError(`No row has "${options.row}" in its name.`)
  console.log(`\n${describe(report)}`)
  if (options.json !== undefined) await writeReport(options.json, report)
}

async function fillAndSample({ client, measured, options, say }: Stage): Promise<Sample> {
  const { contacts, organizations } = options
  await fill({ client, contacts, organizations, measured, say })
  return sample(client, measured.organizationId, Math.ceil(options.queue / 2) * options.rounds)
}

const begin = ({ service, database, options, version }: Stage): Report => ({
  takenAt: new Date().toISOString(),
  machine: machine(version),
  options,
  rows: [],
  memory: {
    serviceAtStart: megabytes(service.program.memory()),
    databaseAtStart: megabytes(database.memory()),
    serviceAtEnd: null,
    databaseAtEnd: null,
  },
})

const end = ({ service, database }: Stage): Pick<Report['memory'], 'serviceAtEnd' | 'databaseAtEnd'> => ({
  serviceAtEnd: megabytes(service.program.memory()),
  databaseAtEnd: megabytes(database.memory()),
})

const roles = { load: runLoad, floor: runFloor }

const role = process.argv[2]
if (process.argv[1] === fileURLToPath(import.meta.url) && (role === 'load' || role === 'floor')) await roles[role]()
