import { fileURLToPath } from 'node:url'
import { runCommand, UsageError } from '../shared/command.ts'
import { currentMachine, publish } from '../shared/report.ts'
import { binariesVersion } from '../../server/src/platform/operations/embedded-postgres/cluster.ts'
import { findBinaries } from '../../server/src/platform/operations/embedded-postgres/binaries.ts'
import { clock } from './clock.ts'
import { cuts } from './cuts.ts'
import { disk } from './disk.ts'
import { frozen } from './frozen.ts'
import { kills } from './kills.ts'
import { runOffer } from './offer.ts'
import { operator } from './operator.ts'
import { type FaultOptions, help, parseOptions } from './options.ts'
import { overload } from './overload.ts'
import { rolling } from './rolling.ts'
import { describe, type FaultReport } from './report.ts'
import { type ScenarioResult, createRandom, type Run } from './scenario.ts'

/**
 * Milliseconds within which every request must get a response: the limit of 4.5 s for the database plus overhead.
 */
const responseLimit = 6000

/** Run in this order, one at a time. */
const scenarios: Record<string, (run: Run, options: FaultOptions) => Promise<ScenarioResult>> = {
  'kill -9': (run, { cycles }) => kills(run, { cycles, recoveryLimit: 30_000 }),
  'frozen database': (run) => frozen(run, { seconds: 60, responseLimit }),
  'cut connections': (run) => cuts(run, { rounds: 30, responseLimit }),
  'full disk': (run) => disk(run, { seconds: 10, includeWal: false }),
  'full disk, including WAL': (run) => disk(run, { seconds: 10, includeWal: true }),
  'rolling restarts': (run) => rolling(run, { rounds: 5 }),
  'clock set back': (run) => clock(run, { seconds: 5 }),
  overload,
  operator: (run) => operator(run),
}

/**
 * Runs the scenarios and resolves to the exit code. This file is also the program that sends the requests of
 * `overload`.
 */
export const main = (args: readonly string[], root: string): Promise<number> =>
  runCommand(args, { help, readOptions: parseOptions, run: (options) => runAndReport(options, root) })

async function runAndReport(options: FaultOptions, root: string): Promise<number> {
  const report = await runAll(options, root)
  await publish(describe(report), report, options.json)
  return report.scenarios.some(({ broken }) => broken.length > 0) ? 1 : 0
}

async function runAll(options: FaultOptions, root: string): Promise<FaultReport> {
  const chosen = Object.entries(scenarios).filter(([name]) => name.includes(options.only))
  if (chosen.length === 0) throw new UsageError(`No scenario name contains "${options.only}".`)
  const report: FaultReport = {
    takenAt: new Date().toISOString(),
    machine: currentMachine(String(await binariesVersion(await findBinaries()))),
    options,
    scenarios: [],
  }
  for (const [name, scenario] of chosen) {
    console.error(`${name} (seed ${options.seed})`)
    const startedAt = performance.now()
    const log = (line: string) => console.error(`  ${line}`)
    const finding = await scenario(
      { root, random: createRandom(options.seed), maxPause: 0, pauseAfterFailure: 50, log },
      options,
    )
    report.scenarios.push({ name, seconds: (performance.now() - startedAt) / 1000, ...finding })
  }
  return report
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'offer') await runOffer()
