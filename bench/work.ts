import pg from 'pg'
import { insertContacts } from './data.ts'
import { type Known, makeQueue } from './leads.ts'
import { numbers, stopwatch, watchMemory } from './measure.ts'
import { Random } from './people.ts'
import { allEnded, assertOutcomes, endedRows, enqueue, firstClaimed } from './queue.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Stage } from './stage.ts'
import { processOf } from './usage.ts'

/** As many at a time as the service has workers. */
const floorConnections = 2
const floorBatch = 100

/** How fast rows that wait are worked on, beside the insertion of contacts alone. */
export async function measureWork(stage: Stage, known: Known): Promise<Row[]> {
  const { options, say } = stage
  say(`${rowNames.worked}, ${options.queue} in each round…`)
  const service: Measurement[] = []
  const floor: Measurement[] = []
  const share = Math.min(options.queue >> 1, Math.floor(known.emails.length / options.rounds))
  const memory = watchMemory(stage.service.program)
  for (let round = 0; round < options.rounds; round++) {
    const emails = known.emails.slice(round * share, (round + 1) * share)
    service.push(await workOnce(stage, { emails, companies: known.companies }))
    floor.push(await insertOnce(stage))
  }
  return [
    rowOf({
      name: rowNames.worked,
      connections: null,
      service: figuresOf(service),
      floor: figuresOf(floor),
      driver: null,
      memory: memory(),
      databaseMemory: stage.database.memory(),
    }),
  ]
}

/** From the first claim to the last end. Errors: a row or a contact that is not what it should be. */
async function workOnce(stage: Stage, known: Known): Promise<Measurement> {
  const leads = makeQueue(known, stage.options.queue, numbers())
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
  if (made !== leads.length - known.emails.length) throw new Error(`${made} contacts were made.`)
  return { answers: leads.length - before, failures: 0, seconds, ...times }
}

async function countContacts({ client, measured }: Stage): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from contacts where organization_id = $1',
    [measured.organizationId],
  )
  return rows[0]?.count ?? 0
}

/** Half as many contacts, in transactions of a hundred, by the driver alone. */
async function insertOnce({ options, connection, measured, database }: Stage): Promise<Measurement> {
  const count = Math.ceil(options.queue / 2)
  const clients = Array.from({ length: floorConnections }, () => new pg.Client(connection))
  await Promise.all(clients.map((client) => client.connect()))
  const first = numbers()
  let next = first
  const random = new Random(first)
  const spent = stopwatch(processOf(process.pid), database)
  const began = performance.now()
  const insert = async (client: pg.Client): Promise<void> => {
    while (next < first + count) {
      const begin = next
      const end = (next = Math.min(begin + floorBatch, first + count))
      await client.query('begin')
      await insertContacts(client, { ...measured, number: 0 }, random, { first: begin, end })
      await client.query('commit')
    }
  }
  await Promise.all(clients.map(insert))
  const seconds = (performance.now() - began) / 1000
  const times = spent()
  await Promise.all(clients.map((client) => client.end()))
  return { answers: count, failures: 0, seconds, ...times }
}
