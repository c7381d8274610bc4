import pg from 'pg'
import { addCleanup } from '../shared/cleanup.ts'
import { insertsOf, sharesOf } from './data.ts'
import { type ExistingRecords, generateQueue, emailsForRound } from './leads.ts'
import { rotate, nextNumberBlock, stopwatch, watchMemory } from './measure.ts'
import { Random } from './people.ts'
import {
  waitUntilFinished,
  assertOutcomes,
  countFinishedRows,
  enqueue,
  waitUntilClaimed,
  type Load,
  createQueue,
  type Queue,
  queueOf,
} from './queue.ts'
import type { Owner } from './records.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import { sampleExisting } from './sample.ts'
import type { Testbed } from './stage.ts'
import { processOf, type Program } from '../shared/usage.ts'

/** The number of workers of the service. */
const floorConnections = 2
const floorBatch = 100
/** Before the rounds, 1/4 of a round's rows are processed uncounted to warm up the code. */
const warmUpShare = 4

/** The queue for the rows of a round, and the existing people that half of them are about. */
interface Source {
  queue: Queue
  existing: ExistingRecords
}

/** Measures the processing of waiting rows, of one organization or of two. */
export async function measureProcessing(
  stage: Testbed,
  names: readonly string[],
  existing: ExistingRecords,
): Promise<Row[]> {
  const own: Source = { queue: queueOf(stage), existing }
  const rows: Row[] = []
  if (names.includes(rowNames.processed)) rows.push(await measureSources(stage, rowNames.processed, [own]))
  if (!names.includes(rowNames.processedOfTwo)) return rows
  const second = await secondSource(stage)
  if (!second) return rows
  return [...rows, await measureSources(stage, rowNames.processedOfTwo, [own, second])]
}

/** The organization after the measured one; undefined if it is the last one. */
async function secondSource(stage: Testbed): Promise<Source | undefined> {
  const { client, measured, options } = stage
  const [, owner] = sharesOf(options.contacts, options.organizations, measured)
  if (!owner) return undefined
  const existing = await sampleExisting(client, owner.organizationId, options.queue)
  return { queue: await createQueue(stage, owner), existing }
}

/** Compares processing with the plain insertion of contacts. */
async function measureSources(stage: Testbed, name: string, sources: readonly Source[]): Promise<Row> {
  const { options, log } = stage
  log(`${name}, ${options.queue} in each round…`)
  const floor = await openFloor(stage)
  const warmUp = Math.ceil(options.queue / warmUpShare)
  await processOnce(stage, loadsOf(sources, options.rounds, warmUp))
  await insertOnce(floor, Math.ceil(warmUp / 2))
  const measured = { service: [] as Measurement[], floor: [] as Measurement[] }
  const memory = watchMemory(stage.service.program)
  for (let round = 0; round < options.rounds; round++) {
    const loads = loadsOf(sources, round, options.queue)
    const turns = {
      service: () => processOnce(stage, loads),
      floor: () => insertOnce(floor, Math.ceil(options.queue / 2)),
    }
    for (const target of rotate(['service', 'floor'] as const, round)) measured[target].push(await turns[target]())
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
  /** Number of leads about existing people. */
  existingCount: number
}

/** `size` leads in total, in equal parts. Each round is about other people while there are enough. */
function loadsOf(sources: readonly Source[], round: number, size: number): SourceLoad[] {
  return sources.map(({ queue, existing: { emails: all, companies } }, index) => {
    const part = Math.floor((size + index) / sources.length)
    const emails = emailsForRound(all, round, part >> 1)
    return { queue, leads: generateQueue({ emails, companies }, part, nextNumberBlock()), existingCount: emails.length }
  })
}

/** Measures from the first claim to the last finished row. Errors: wrong numbers of rows or contacts. */
async function processOnce(stage: Testbed, loads: readonly SourceLoad[]): Promise<Measurement> {
  const queues = loads.map(({ queue }) => queue)
  const contacts = await Promise.all(queues.map((queue) => countContacts(stage, queue)))
  const earlier = await countFinishedRows(stage, queues)
  const since = new Date()
  await enqueue(stage, loads)
  await waitUntilClaimed(stage, queues)
  const cpuSince = stopwatch(stage.service.program, stage.database)
  const startedAt = performance.now()
  const before = (await countFinishedRows(stage, queues)) - earlier
  await waitUntilFinished(stage, queues)
  const seconds = (performance.now() - startedAt) / 1000
  const times = cpuSince()
  for (const [index, { queue, leads, existingCount }] of loads.entries()) {
    await assertOutcomes(stage, queue, since, leads.length)
    const created = (await countContacts(stage, queue)) - (contacts[index] ?? 0)
    if (created !== leads.length - existingCount)
      throw new Error(`${created} contacts were created, not ${leads.length - existingCount}.`)
  }
  const responses = loads.reduce((sum, { leads }) => sum + leads.length, 0)
  return { responses: responses - before, seconds, ...times }
}

async function countContacts({ client }: Testbed, { organizationId }: Queue): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from contacts where organization_id = $1',
    [organizationId],
  )
  return rows[0]?.count ?? 0
}

/** Inserts contacts without a service, over persistent connections like the service's. */
interface InsertFloor {
  clients: readonly pg.Client[]
  owner: Owner
  database: Program
  close(): Promise<void>
}

async function openFloor({ connection, measured, database }: Testbed): Promise<InsertFloor> {
  const clients = Array.from({ length: floorConnections }, () => new pg.Client(connection))
  await Promise.all(clients.map((client) => client.connect()))
  const close = addCleanup(async () => void (await Promise.all(clients.map((client) => client.end()))))
  return { clients, owner: { ...measured, number: 0 }, database, close }
}

/** Inserts contacts in transactions of 100 through the driver alone. They are generated before the measurement. */
async function insertOnce({ clients, owner, database }: InsertFloor, count: number): Promise<Measurement> {
  const first = nextNumberBlock()
  const random = new Random(first)
  const batches = Array.from({ length: Math.ceil(count / floorBatch) }, (_, index) => {
    const begin = first + index * floorBatch
    return insertsOf(owner, random, { first: begin, end: Math.min(begin + floorBatch, first + count) })
  })
  const cpuSince = stopwatch(processOf(process.pid), database)
  const startedAt = performance.now()
  const insert = async (client: pg.Client): Promise<void> => {
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
      await client.query('begin')
      for (const statement of batch) await client.query(statement)
      await client.query('commit')
    }
  }
  await Promise.all(clients.map(insert))
  const seconds = (performance.now() - startedAt) / 1000
  return { responses: count, seconds, ...cpuSince() }
}
