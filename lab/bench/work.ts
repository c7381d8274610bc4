import pg from 'pg'
import { atEnd } from '../shared/cleanup.ts'
import { insertsOf, sharesOf } from './data.ts'
import { type Known, makeQueue, peopleOf } from './leads.ts'
import { inTurn, numbers, stopwatch, watchMemory } from './measure.ts'
import { Random } from './people.ts'
import {
  allEnded,
  assertOutcomes,
  endedRows,
  enqueue,
  firstClaimed,
  type Load,
  makeQueueOf,
  type Queue,
  queueOf,
} from './queue.ts'
import type { Owner } from './records.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import { takeKnown } from './sample.ts'
import type { Stage } from './stage.ts'
import { processOf, type Program } from '../shared/usage.ts'

/** As many at a time as the service has workers. */
const floorConnections = 2
const floorBatch = 100
/** Before the rounds, one part in so many of a round's rows goes through uncounted, so that code is warm. */
const warmUpShare = 4

/** Where the rows of a round wait, and whom half of them are about. */
interface Source {
  queue: Queue
  known: Known
}

/** How fast rows that wait are worked on, of one organization or half of them of another one. */
export async function measureWork(stage: Stage, names: readonly string[], known: Known): Promise<Row[]> {
  const own: Source = { queue: queueOf(stage), known }
  const rows: Row[] = []
  if (names.includes(rowNames.worked)) rows.push(await measureSources(stage, rowNames.worked, [own]))
  if (!names.includes(rowNames.workedOfTwo)) return rows
  const second = await secondSource(stage)
  if (!second) return rows
  return [...rows, await measureSources(stage, rowNames.workedOfTwo, [own, second])]
}

/** The organization after the measured one; undefined where there is only that. */
async function secondSource(stage: Stage): Promise<Source | undefined> {
  const { client, measured, options } = stage
  const [, owner] = sharesOf(options.contacts, options.organizations, measured)
  if (!owner) return undefined
  const known = await takeKnown(client, owner.organizationId, options.queue)
  return { queue: await makeQueueOf(stage, owner), known }
}

/** Beside the insertion of contacts alone. */
async function measureSources(stage: Stage, name: string, sources: readonly Source[]): Promise<Row> {
  const { options, say } = stage
  say(`${name}, ${options.queue} in each round…`)
  const floor = await openFloor(stage)
  const warmUp = Math.ceil(options.queue / warmUpShare)
  await workOnce(stage, loadsOf(sources, options.rounds, warmUp))
  await insertOnce(floor, Math.ceil(warmUp / 2))
  const measured = { service: [] as Measurement[], floor: [] as Measurement[] }
  const memory = watchMemory(stage.service.program)
  for (let round = 0; round < options.rounds; round++) {
    const loads = loadsOf(sources, round, options.queue)
    const turns = {
      service: () => workOnce(stage, loads),
      floor: () => insertOnce(floor, Math.ceil(options.queue / 2)),
    }
    for (const target of inTurn(['service', 'floor'] as const, round)) measured[target].push(await turns[target]())
  }
  await floor.close()
  return rowOf({
    name,
    connections: null,
    service: figuresOf(measured.service),
    floor: figuresOf(measured.floor),
    driver: null,
    memory: memory(),
    databaseMemory: stage.database.memory(),
  })
}

interface SourceLoad extends Load {
  /** So many of the leads are about someone there is. */
  known: number
}

/** So many leads in all, in equal parts. Each round is about other people, as long as there are others. */
function loadsOf(sources: readonly Source[], round: number, size: number): SourceLoad[] {
  return sources.map(({ queue, known: { emails: all, companies } }, index) => {
    const part = Math.floor((size + index) / sources.length)
    const emails = peopleOf(all, round, part >> 1)
    return { queue, leads: makeQueue({ emails, companies }, part, numbers()), known: emails.length }
  })
}

/** From the first claim to the last end. Errors: a row or a contact that is not what it should be. */
async function workOnce(stage: Stage, loads: readonly SourceLoad[]): Promise<Measurement> {
  const queues = loads.map(({ queue }) => queue)
  const contacts = await Promise.all(queues.map((queue) => countContacts(stage, queue)))
  const earlier = await endedRows(stage, queues)
  const since = new Date()
  await enqueue(stage, loads)
  await firstClaimed(stage, queues)
  const spent = stopwatch(stage.service.program, stage.database)
  const began = performance.now()
  const before = (await endedRows(stage, queues)) - earlier
  await allEnded(stage, queues)
  const seconds = (performance.now() - began) / 1000
  const times = spent()
  for (const [index, { queue, leads, known }] of loads.entries()) {
    await assertOutcomes(stage, queue, since, leads.length)
    const made = (await countContacts(stage, queue)) - (contacts[index] ?? 0)
    if (made !== leads.length - known) throw new Error(`${made} contacts were made.`)
  }
  const answers = loads.reduce((sum, { leads }) => sum + leads.length, 0)
  return { answers: answers - before, seconds, ...times }
}

async function countContacts({ client }: Stage, { organizationId }: Queue): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from contacts where organization_id = $1',
    [organizationId],
  )
  return rows[0]?.count ?? 0
}

/** What inserts contacts without a service: connections that stay, as the service's do. */
interface InsertFloor {
  clients: readonly pg.Client[]
  owner: Owner
  database: Program
  close(): Promise<void>
}

async function openFloor({ connection, measured, database }: Stage): Promise<InsertFloor> {
  const clients = Array.from({ length: floorConnections }, () => new pg.Client(connection))
  await Promise.all(clients.map((client) => client.connect()))
  const close = atEnd(async () => void (await Promise.all(clients.map((client) => client.end()))))
  return { clients, owner: { ...measured, number: 0 }, database, close }
}

/** So many contacts, in transactions of a hundred, by the driver alone. They are made up before the time begins. */
async function insertOnce({ clients, owner, database }: InsertFloor, count: number): Promise<Measurement> {
  const first = numbers()
  const random = new Random(first)
  const batches = Array.from({ length: Math.ceil(count / floorBatch) }, (_, index) => {
    const begin = first + index * floorBatch
    return insertsOf(owner, random, { first: begin, end: Math.min(begin + floorBatch, first + count) })
  })
  const spent = stopwatch(processOf(process.pid), database)
  const began = performance.now()
  const insert = async (client: pg.Client): Promise<void> => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      await client.query('begin')
      for (const statement of batch) await client.query(statement)
      await client.query('commit')
    }
  }
  await Promise.all(clients.map(insert))
  const seconds = (performance.now() - began) / 1000
  return { answers: count, seconds, ...spent() }
}
