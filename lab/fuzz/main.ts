import { runCommand } from '../shared/command.ts'
import { machine, publish } from '../shared/report.ts'
import type { Program } from '../shared/usage.ts'
import { readContract } from './document.ts'
import { changedTables, faultsInLog, idsIn, type Rows, rowsOf } from './guard.ts'
import { type FuzzOptions, help, readOptions } from './options.ts'
import { describe, describeViolation, type Report } from './report.ts'
import { makeWorld, run, type RunOptions } from './run.ts'
import { openStage, type Stage } from './stage.ts'

/** `npm run fuzz`. Resolves to the exit code. */
export const main = (words: readonly string[], root: string): Promise<number> =>
  runCommand(words, { help, readOptions, run: (options) => fuzz(options, root) })

async function fuzz({ json, ...options }: FuzzOptions, root: string): Promise<number> {
  console.log(`seed ${options.seed}`)
  const stage = await openStage(root)
  const contract = readContract(root)
  const world = await makeWorld({ ...stage, contract, seed: options.seed })
  const before = await settledRows(stage)
  const foreignIds = idsIn(before)
  const watch = watchMemory(stage.program)
  const progress = (sent: number) => {
    watch.note(sent / options.requests)
    if (sent % Math.max(500, Math.ceil(options.requests / 20 / 500) * 500) === 0)
      console.error(`${sent} of ${options.requests}`)
  }
  const found: RunOptions['found'] = (violation) => console.error(describeViolation(violation))
  const result = await run({ ...options, world, contract, foreignIds, port: stage.port, progress, found })
  const memory = watch.end()
  const aftermath = await examine(stage, before, memory)
  const report: Report = {
    takenAt: new Date().toISOString(),
    machine: machine(await versionOf(stage)),
    options,
    ...result,
    memory,
    aftermath,
  }
  await publish(describe(report), report, json)
  return report.violations.length + aftermath.length > 0 ? 1 : 0
}

const versionOf = async ({ client }: Stage): Promise<string> =>
  (await client.query<{ version: string }>(`select current_setting('server_version') as version`)).rows[0]?.version ??
  ''

/** The rows of the other organization once the work on what was pushed there is done. */
async function settledRows({ client, theirs }: Stage): Promise<Rows> {
  for (let before = await rowsOf(client, theirs.organizationId); ;) {
    await new Promise((settle) => setTimeout(settle, 1000))
    const after = await rowsOf(client, theirs.organizationId)
    if (changedTables(before, after).length === 0) return after
    before = after
  }
}

/** What is wrong with the service once it is over. */
async function examine(
  { port, client, theirs, logged }: Stage,
  before: Rows,
  memory: Report['memory'],
): Promise<string[]> {
  const found: string[] = []
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
  if (ready?.status !== 200) found.push(`The service does not serve any more: ${ready?.status ?? 'no answer'}.`)
  for (const table of changedTables(before, await rowsOf(client, theirs.organizationId)))
    found.push(`Rows of the other organization were changed: ${table}.`)
  found.push(
    ...faultsInLog(await logged())
      .slice(0, 20)
      .map((line) => `In the log: ${line}`),
  )
  if (memory && memory.late > 2 * memory.early + 100)
    found.push(`The memory grew from ${memory.early} to ${memory.late} MB.`)
  return found
}

/** Notes the memory once the service is warm, and the most it has later. */
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
