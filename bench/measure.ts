import { linesOf, startRole } from './children.ts'
import { atEnd } from './cleanup.ts'
import type { LoadMessage, LoadResult, LoadTask } from './load.ts'
import type { Measurement } from './report.ts'
import type { Program } from './usage.ts'

/** A program that is measured beside the database. */
export interface Target {
  name: 'service' | 'floor'
  port: number
  program: Program
}

/** What is asked of a target. */
export interface Load {
  /** The row's name. */
  name: string
  requests: readonly string[]
  connections: number
  seconds: number
}

/** Milliseconds of processor time; undefined where the system does not tell. */
type Times = Pick<Measurement, 'serviceCpu' | 'databaseCpu'>

/** Notes what program and database spend; the answer is told of the time since. */
export function stopwatch(program: Program, database: Program): () => Times {
  const [service, other] = [program.cpu(), database.cpu()]
  const since = (before: number | undefined, now: number | undefined) =>
    before === undefined || now === undefined ? undefined : now - before
  return () => ({ serviceCpu: since(service, program.cpu()), databaseCpu: since(other, database.cpu()) })
}

/**
 * One turn of one target. `good` are all answers of 200, those before and after the counting too; `atBorders` is called
 * when counting begins and ends. Errors: an answer that is not 200.
 */
export async function measureOnce(
  { port, program, name: target }: Target,
  database: Program,
  { name, requests, connections, seconds }: Load,
  atBorders?: () => Promise<void>,
): Promise<Measurement & { good: number }> {
  const task: LoadTask = {
    port,
    requests,
    firstNumber: numbers(),
    connections,
    warmUp: Math.min(1, seconds / 3),
    seconds,
  }
  const child = startRole('load', task)
  const kill = atEnd(async () => void child.kill('SIGKILL'))
  let spent = stopwatch(program, database)
  let times: Times | undefined
  let result: LoadResult | undefined
  let good = 0
  for await (const line of linesOf(child)) {
    const message = JSON.parse(line) as LoadMessage
    if (message.event === 'begin') spent = stopwatch(program, database)
    else if (message.event === 'end') [times, result] = [spent(), message]
    else good = message.good
    if (message.event !== 'done') await atBorders?.()
  }
  await kill()
  if (!times || !result) throw new Error('The load generator ended without a result.')
  if (result.failures > 0) throw new Error(`${result.failures} answers of the ${target} were not 200 (${name}).`)
  return { ...result, ...times, good }
}

let blocks = 0
/** Above those of the contacts that the tables are filled with. */
const firstBlock = 20_000_000

/** The first of a million numbers that nothing else of this run uses. */
export const numbers = (): number => firstBlock + ++blocks * 1_000_000

const pause = 100

/** Watches the memory of a program; the answer ends that, with the most in each half of the time, in bytes. */
export function watchMemory(program: Program): () => [first: number | undefined, second: number | undefined] {
  const seen: number[] = []
  const look = () => {
    const memory = program.memory()
    if (memory !== undefined) seen.push(memory)
  }
  look()
  const timer = setInterval(look, pause)
  return () => {
    clearInterval(timer)
    look()
    const middle = seen.length >> 1
    const most = (part: number[]) => (part.length === 0 ? undefined : Math.max(...part))
    return [most(seen.slice(0, middle)), most(seen.slice(middle))]
  }
}
