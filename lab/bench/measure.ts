import type pg from 'pg'
import { linesOf, startRole } from './children.ts'
import { atEnd } from '../shared/cleanup.ts'
import type { Outcome, TurnMessage, TurnResult } from './counter.ts'
import type { DriverTask } from './driver.ts'
import type { Fresh, Packed } from './exchange.ts'
import { type LoadTask, numberMark, type Request } from './load.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { processOf, type Program } from '../shared/usage.ts'

/** A program that answers HTTP. */
export interface HttpTarget {
  name: 'service' | 'floor'
  port: number
  program: Program
}

/** The driver alone, in the process that measures. */
export interface DriverTarget {
  name: 'driver'
  connection: pg.ClientConfig
  packed: Packed
  fresh?: readonly Fresh[]
  lengths: readonly (number | null)[]
}

export type Target = HttpTarget | DriverTarget

/** What is asked of a target. */
export interface Load {
  /** The row's name. */
  name: string
  requests: readonly Request[]
  /** What every answer's status must be (200). */
  status?: number
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
 * One turn of one target. `good` are all answers that were right, those before and after the counting too; `atBorders` is
 * called when counting begins and ends. Errors: any answer that is not right, counted or not.
 */
export async function measureOnce(
  target: Target,
  database: Program,
  load: Load,
  atBorders?: () => Promise<void>,
): Promise<Measurement & { good: number }> {
  const child = target.name === 'driver' ? startRole('driver', driverTask(target, load)) : startLoad(target, load)
  const kill = atEnd(async () => void child.kill('SIGKILL'))
  const program = target.name === 'driver' ? processOf(child.pid ?? 0) : target.program
  let spent = stopwatch(program, database)
  let times: Times | undefined
  let result: TurnResult | undefined
  let outcome: Outcome | undefined
  for await (const line of linesOf(child)) {
    const message = JSON.parse(line) as TurnMessage
    if (message.event === 'begin') spent = stopwatch(program, database)
    else if (message.event === 'end') [times, result] = [spent(), message]
    else outcome = message
    if (message.event !== 'done') await atBorders?.()
  }
  await kill()
  if (!times || !result || !outcome)
    throw new Error(`The turn of the ${target.name} ended without a result (${load.name}).`)
  if (outcome.failures > 0)
    throw new Error(`${outcome.failures} answers of the ${target.name} were wrong (${load.name}).`)
  return { ...result, ...times, good: outcome.good }
}

/** A third of a second is what a just-in-time compiler needs at these rates. */
const warmUp = (seconds: number): number => Math.min(1, seconds / 3)

function startLoad({ port }: HttpTarget, { requests, status = 200, connections, seconds }: Load) {
  const counts = requests.some(({ bytes }) => bytes.includes(numberMark))
  const task: LoadTask = {
    port,
    requests,
    status,
    firstNumber: counts ? numbers() : 0,
    connections,
    warmUp: warmUp(seconds),
    seconds,
  }
  return startRole('load', task)
}

const driverTask = (target: DriverTarget, { connections, seconds }: Load): DriverTask => ({
  connection: target.connection,
  packed: target.packed,
  ...(target.fresh && { fresh: target.fresh }),
  lengths: target.lengths,
  firstNumber: target.fresh ? numbers() : 0,
  connections,
  warmUp: warmUp(seconds),
  seconds,
})

/** Where a row is measured, and how long. */
export interface Rounds {
  service: HttpTarget
  database: Program
  rounds: number
}

/** A row: the targets take turns. The answer also tells how many answers of each were right in all. */
export async function measureRow(
  { service, database, rounds }: Rounds,
  others: readonly Target[],
  load: Load,
): Promise<{ row: Row; good: Record<Target['name'], number> }> {
  const measured: Record<Target['name'], Measurement[]> = { service: [], floor: [], driver: [] }
  const good = { service: 0, floor: 0, driver: 0 }
  const memory = watchMemory(service.program)
  for (let round = 0; round < rounds; round++) {
    for (const target of inTurn([service, ...others], round)) {
      const measurement = await measureOnce(target, database, load)
      measured[target.name].push(measurement)
      good[target.name] += measurement.good
    }
  }
  const figures = (name: Target['name']) => (measured[name].length > 0 ? figuresOf(measured[name]) : null)
  const row = rowOf({
    name: load.name,
    connections: load.connections,
    service: figuresOf(measured.service),
    floor: figures('floor'),
    driver: figures('driver'),
    memory: memory(),
    databaseMemory: database.memory(),
  })
  return { row, good }
}

/** In each round another one goes first: what comes first meets another machine than what comes last. */
export const inTurn = <Item>(items: readonly Item[], round: number): Item[] => {
  const first = round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

let blocks = 0
/** Above those of the contacts that the tables are filled with. */
const firstBlock = 20_000_000
const blockSize = 200_000

/** The first of 200,000 numbers of eight digits that nothing else of this run uses. */
export const numbers = (): number => firstBlock + ++blocks * blockSize

const pause = 100

/** Watches the memory of a program; the answer ends that, with the most in each half of the time, in bytes. */
export function watchMemory(
  program: Pick<Program, 'memory'>,
): () => [first: number | undefined, second: number | undefined] {
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
