import pg from 'pg'
import type { JsonObject } from '../server/src/platform/resource/fields.ts'
import { atEnd } from '../tools/cleanup.ts'
import { insertsOf } from './data.ts'
import { type Known, makeQueue } from './leads.ts'
import { inTurn, numbers, stopwatch, watchMemory } from './measure.ts'
import { Random } from './people.ts'
import { allEnded, assertOutcomes, endedRows, enqueue, firstClaimed } from './queue.ts'
import type { Owner } from './records.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Stage } from './stage.ts'
import { processOf, type Program } from '../tools/usage.ts'

/** As many at a time as the service has workers. */
const floorConnections = 2
const floorBatch = 100
/** Before the rounds, one part in so many of a round's rows goes through uncounted, so that code is warm. */
const warmUpShare = 4

/** How fast rows that wait are worked on, beside the insertion of contacts alone. */
export async function measureWork(stage: Stage, known: Known): Promise<Row[]> {
  const { options, say } = stage
  say(`${rowNames.worked}, ${options.queue} in each round…`)
  const { companies } = known
  const share = Math.min(options.queue >> 1, Math.floor(known.emails.length / (options.rounds + 1)))
  const emailsOf = (round: number) => known.emails.slice(round * share, (round + 1) * share)
  const floor = await openFloor(stage)
  const warmUp = Math.ceil(options.queue / warmUpShare)
  const emails = emailsOf(options.rounds).slice(0, warmUp >> 1)
  await workOnce(stage, makeQueue({ emails, companies }, warmUp, numbers()), emails.length)
  await insertOnce(floor, Math.ceil(warmUp / 2))
  const measured = { service: [] as Measurement[], floor: [] as Measurement[] }
  const memory = watchMemory(stage.service.program)
  for (let round = 0; round < options.rounds; round++) {
    const own = emailsOf(round)
    const leads = makeQueue({ emails: own, companies }, options.queue, numbers())
    const turns = {
      service: () => workOnce(stage, leads, own.length),
      floor: () => insertOnce(floor, Math.ceil(options.queue / 2)),
    }
    for (const name of inTurn(['service', 'floor'] as const, round)) measured[name].push(await turns[name]())
  }
  await floor.close()
  return [
    rowOf({
      name: rowNames.worked,
      connections: null,
      service: figuresOf(measured.service),
      floor: figuresOf(measured.floor),
      driver: null,
      memory: memory(),
      databaseMemory: stage.database.memory(),
    }),
  ]
}

/** From the first claim to the last end; `known` of the leads are about someone there is. Errors: a row or a contact that is not what it should be. */
async function workOnce(stage: Stage, leads: readonly JsonObject[], known: number): Promise<Measurement> {
  const contacts = await countContacts(stage)
  const earlier = await endedRows(stage)
  const since = new Date()
  await enqueue(stage, leads)
  await firstClaimed(stage)
  const spent = stopwatch(stage.service.program, stage.database)
  const began = performance.now()
  const before = (await endedRows(stage)) - earlier
  await allEnded(stage)
  const seconds = (performance.now() - began) / 1000
  const times = spent()
  await assertOutcomes(stage, since, leads.length)
  const made = (await countContacts(stage)) - contacts
  if (made !== leads.length - known) throw new Error(`${made} contacts were made.`)
  return { answers: leads.length - before, seconds, ...times }
}

async function countContacts({ client, measured }: Stage): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from contacts where organization_id = $1',
    [measured.organizationId],
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
