import type pg from 'pg'
import { linesOf, startRole } from './children.ts'
import { addCleanup } from '../shared/cleanup.ts'
import type { Outcome, TurnMessage, TurnResult } from './counter.ts'
import type { DriverTask } from './driver.ts'
import type { VariableParts, Packed } from './exchange.ts'
import { type LoadTask, numberPlaceholder, type Request } from './load.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { processOf, type Program } from '../shared/usage.ts'
import type { HttpTarget } from './http-target.ts'

/** The driver alone, in the measuring process. */
export interface DriverTarget {
  name: 'driver'
  connection: pg.ClientConfig
  packed: Packed
  variableParts?: readonly VariableParts[]
  lengths: readonly (number | null)[]
}

export type Target = HttpTarget | DriverTarget

/** The requests to a target. */
export interface Load {
  /** Name of the row. */
  name: string
  requests: readonly Request[]
  /** The expected status of every response (200). */
  status?: number
  connections: number
  seconds: number
}

/** Milliseconds of processor time; undefined if the system does not report it. */
type Times = Pick<Measurement, 'serviceCpu' | 'databaseCpu'>

/** Starts measuring the processor time of program and database; the returned function gives the time since then. */
export function stopwatch(program: Program, database: Program): () => Times {
  const [service, other] = [program.cpu(), database.cpu()]
  const difference = (before: number | undefined, now: number | undefined) =>
    before === undefined || now === undefined ? undefined : now - before
  return () => ({ serviceCpu: difference(service, program.cpu()), databaseCpu: difference(other, database.cpu()) })
}

/**
 * Measures one turn of one target. `good` is the number of all correct responses, counted or not. `onBeginAndEnd` is
 * called when counting begins and ends. Errors: any wrong response, counted or not.
 */
export async function measureTurn(
  target: Target,
  database: Program,
  load: Load,
  onBeginAndEnd?: () => Promise<void>,
): Promise<Measurement & { good: number }> {
  const child = target.name === 'driver' ? startRole('driver', driverTask(target, load)) : startLoad(target, load)
  const kill = addCleanup(async () => void child.kill('SIGKILL'))
  const program = target.name === 'driver' ? processOf(child.pid ?? 0) : target.program
  let cpuSince = stopwatch(program, database)
  let times: Times | undefined
  let result: TurnResult | undefined
  let outcome: Outcome | undefined
  for await (const line of linesOf(child)) {
    const message = JSON.parse(line) as TurnMessage
    if (message.event === 'begin') cpuSince = stopwatch(program, database)
    else if (message.event === 'end') [times, result] = [cpuSince(), message]
    else outcome = message
    if (message.event !== 'done') await onBeginAndEnd?.()
  }
  await kill()
  if (!times || !result || !outcome)
    throw new Error(`The turn of ${target.name} ended without a result (${load.name}).`)
  if (outcome.failures > 0)
    throw new Error(`${outcome.failures} responses of ${target.name} were wrong (${load.name}).`)
  return { ...result, ...times, good: outcome.good }
}

/** Seconds. The JIT compiler needs about a third of a second at these rates. */
const warmUp = (seconds: number): number => Math.min(1, seconds / 3)

function startLoad({ port }: HttpTarget, { requests, status = 200, connections, seconds }: Load) {
  const isNumbered = requests.some(({ bytes }) => bytes.includes(numberPlaceholder))
  const task: LoadTask = {
    port,
    requests,
    status,
    firstNumber: isNumbered ? nextNumberBlock() : 0,
    connections,
    warmUp: warmUp(seconds),
    seconds,
  }
  return startRole('load', task)
}

const driverTask = (target: DriverTarget, { connections, seconds }: Load): DriverTask => ({
  connection: target.connection,
  packed: target.packed,
  ...(target.variableParts && { variableParts: target.variableParts }),
  lengths: target.lengths,
  firstNumber: target.variableParts ? nextNumberBlock() : 0,
  connections,
  warmUp: warmUp(seconds),
  seconds,
})

/** Where a row is measured, and for how many rounds. */
export interface Rounds {
  service: HttpTarget
  database: Program
  rounds: number
}

/** Measures a row; the targets take turns. `good` counts all correct responses of each target. */
export async function measureRow(
  { service, database, rounds }: Rounds,
  others: readonly Target[],
  load: Load,
): Promise<{ row: Row; good: Record<Target['name'], number> }> {
  const measured: Record<Target['name'], Measurement[]> = { service: [], floor: [], driver: [] }
  const good = { service: 0, floor: 0, driver: 0 }
  const memory = watchMemory(service.program)
  for (let round = 0; round < rounds; round++) {
    for (const target of rotate([service, ...others], round)) {
      const measurement = await measureTurn(target, database, load)
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

/** Starts each round with another item, because the load of the machine changes during a round. */
export const rotate = <Item>(items: readonly Item[], round: number): Item[] => {
  const first = round % items.length
  return [...items.slice(first), ...items.slice(0, first)]
}

let blocks = 0
/** Above the numbers of the contacts in the filled tables. */
const firstBlock = 20_000_000
const blockSize = 200_000

const blocksPerRun = 24

/** Skips the numbers of earlier runs on the same database. */
export const skipNumbersOf = (runs: number): void => void (blocks = runs * blocksPerRun)

/** The first of 200,000 eight-digit numbers that nothing else in this run uses. */
export const nextNumberBlock = (): number => firstBlock + ++blocks * blockSize

const interval = 100

/**
 * Samples the memory of a program until the returned function is called; it gives the maximum of each half in bytes.
 */
export function watchMemory(
  program: Pick<Program, 'memory'>,
): () => [first: number | undefined, second: number | undefined] {
  const samples: number[] = []
  const readMemory = () => {
    const memory = program.memory()
    if (memory !== undefined) samples.push(memory)
  }
  readMemory()
  const timer = setInterval(readMemory, interval)
  return () => {
    clearInterval(timer)
    readMemory()
    const middle = samples.length >> 1
    const max = (part: number[]) => (part.length === 0 ? undefined : Math.max(...part))
    return [max(samples.slice(0, middle)), max(samples.slice(middle))]
  }
}
