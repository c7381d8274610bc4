import { runCommand } from '../shared/command.ts'
import { currentMachine, publish } from '../shared/report.ts'
import type { Program } from '../shared/usage.ts'
import { readContract } from './document.ts'
import { changedTables, problemsInLog, idsIn, type Rows, rowsOf, untilProcessed } from './guard.ts'
import { type FuzzOptions, help, parseOptions } from './options.ts'
import { describe, describeViolation, type Report } from './report.ts'
import { createContext, run, type RunOptions } from './run.ts'
import { startTestbed, type Testbed } from './stage.ts'

/** `npm run fuzz`. Resolves to the exit code. */
export const main = (args: readonly string[], root: string): Promise<number> =>
  runCommand(args, { help, readOptions: parseOptions, run: (options) => fuzz(options, root) })

async function fuzz({ json, ...options }: FuzzOptions, root: string): Promise<number> {
  console.log(`seed ${options.seed}`)
  const stage = await startTestbed(root)
  const contract = readContract(root)
  const context = await createContext({ ...stage, contract, seed: options.seed })
  await untilProcessed(stage.client, stage.theirs.organizationId)
  const before = await rowsOf(stage.client, stage.theirs.organizationId)
  const foreignIds = idsIn(before)
  const memoryWatch = watchMemory(stage.program)
  const progress = (sent: number) => {
    memoryWatch.note(sent / options.requests)
    if (sent % Math.max(500, Math.ceil(options.requests / 20 / 500) * 500) === 0)
      console.error(`${sent} of ${options.requests}`)
  }
  const problems: RunOptions['onViolation'] = (violation) => console.error(describeViolation(violation))
  const result = await run({
    ...options,
    context,
    contract,
    foreignIds,
    port: stage.port,
    onProgress: progress,
    onViolation: problems,
  })
  const memory = memoryWatch.end()
  const aftermath = await checkAfterwards(stage, before, memory)
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: currentMachine(await versionOf(stage)),
    options,
    ...result,
    memory,
    aftermath,
  }
  await publish(describe(report), report, json)
  return report.violations.length + aftermath.length > 0 ? 1 : 0
}

const versionOf = async ({ client }: Testbed): Promise<string> =>
  (await client.query<{ version: string }>(`select current_setting('server_version') as version`)).rows[0]?.version ??
  ''

/** Checks the service after the run. */
async function checkAfterwards(
  { port, client, theirs, logged }: Testbed,
  before: Rows,
  memory: Report['memory'],
): Promise<string[]> {
  const problems: string[] = []
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  if (ready?.status !== 200) problems.push(`The service is not ready: ${ready?.status ?? 'no response'}.`)
  for (const table of changedTables(before, await rowsOf(client, theirs.organizationId)))
    problems.push(`Rows of the other organization changed: ${table}.`)
  problems.push(
    ...problemsInLog(await logged())
      .slice(0, 20)
      .map((line) => `In the log: ${line}`),
  )
  if (memory && memory.late > 2 * memory.early + 100)
    problems.push(`The memory grew from ${memory.early} to ${memory.late} MB.`)
  return problems
}

/** Records the memory after warm-up, and its maximum in the second half. */
function watchMemory(program: Program | undefined) {
  const megabytes = () => Math.round((program?.memory() ?? Number.NaN) / 1024 ** 2)
  let [early, late] = [Number.NaN, Number.NaN]
  return {
    note(share: number) {
      if (share <= 0.1 || Number.isNaN(early)) early = megabytes()
      else if (share > 0.5) late = Math.max(Number.isNaN(late) ? 0 : late, megabytes())
    },
    end: (): Report['memory'] => (Number.isNaN(early) || Number.isNaN(late) ? null : { early, late }),
  }
}
