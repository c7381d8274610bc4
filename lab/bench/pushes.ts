import { newId } from '../../server/src/platform/model/ids.ts'
import { pack } from './exchange.ts'
import { pushStatement } from './floor.ts'
import { requestBytes } from './http.ts'
import { type Known, makeTemplates } from './leads.ts'
import { numberMark, type Request } from './load.ts'
import { type DriverTarget, measureOnce, measureRow, watchMemory } from './measure.ts'
import { allEnded, assertOutcomes, endedRows, queueOf } from './queue.ts'
import { poolSize, usualConnections } from './reads.ts'
import { figuresOf, type Measurement, middle, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import { type Stage, startFloor } from './stage.ts'

/** The intake takes many pushes with one insert: how many, more connections show. */
const pushConnections = [...usualConnections, 64]
const busyConnections = [64]
/** Different leads; the number in each makes every push another one. */
const templates = 256

/** How many pushes are accepted while nobody works on them: the stage's service has no workers. */
export async function measurePushes(stage: Stage, known: Known): Promise<Row[]> {
  const { client, measured, connection, options, say } = stage
  const { organizationId } = measured
  const [floorImport, driverImport] = [await makeImport(stage), await makeImport(stage)]
  const pushes = { organizationId, importId: floorImport }
  const floor = await startFloor({ connection, connections: poolSize, pushes })
  const driver = driverOf(stage, driverImport, known)
  const requests = requestsOf(stage, known)
  const accepted = { service: 0, floor: 0, driver: 0 }
  const rows: Row[] = []
  for (const connections of options.connections ?? pushConnections) {
    say(`${rowNames.pushed}, ${connections} at a time…`)
    const load = { name: rowNames.pushed, requests, connections, seconds: options.seconds }
    // More than that the database does not take beside the service's own.
    const others = connections <= poolSize ? [floor, driver] : [floor]
    const { row, good } = await measureRow({ ...stage, rounds: options.rounds }, others, load)
    for (const name of ['service', 'floor', 'driver'] as const) accepted[name] += good[name]
    rows.push(row)
  }
  await floor.stop()
  await assertKept(stage, measured.importId, accepted.service)
  await assertKept(stage, floorImport, accepted.floor)
  await assertKept(stage, driverImport, accepted.driver)
  // What was pushed here is no work of the rows that follow.
  await client.query('truncate import_rows, import_row_counts')
  return rows
}

/** Templates of one insert, whose id and number are new each time. */
function driverOf({ connection, measured }: Stage, importId: string, known: Known): DriverTarget {
  const id = newId()
  const place = { organizationId: measured.organizationId, importId }
  const leads = makeTemplates(known, templates, numberMark).map((lead) => JSON.stringify(lead))
  return {
    name: 'driver',
    connection,
    packed: pack(leads.map((lead) => [[pushStatement(place, id, lead)]])),
    fresh: leads.map(() => ({ ids: [id], number: numberMark })),
    lengths: leads.map(() => null),
  }
}

/** The same while the service works on what it accepts; then it is left to work through the rest. */
export async function measureBusyPushes(stage: Stage, known: Known): Promise<Row[]> {
  const { measured, options, say } = stage
  const requests = requestsOf(stage, known)
  const queue = queueOf(stage)
  const since = new Date()
  let accepted = 0
  const rows: Row[] = []
  for (const connections of options.connections ?? busyConnections) {
    say(`${rowNames.busy}, ${connections} at a time…`)
    const rounds: Measurement[] = []
    const ended: number[] = []
    const memory = watchMemory(stage.service.program)
    for (let round = 0; round < options.rounds; round++) {
      const borders: { at: number; rows: number }[] = []
      const atBorders = async () => void borders.push({ at: performance.now(), rows: await endedRows(stage, [queue]) })
      const load = { name: rowNames.busy, requests, connections, seconds: options.seconds }
      const measurement = await measureOnce(stage.service, stage.database, load, atBorders)
      accepted += measurement.good
      rounds.push(measurement)
      const [begin, end] = borders
      if (!begin || !end) throw new Error('a turn that has a result has begun and ended')
      ended.push(((end.rows - begin.rows) / (end.at - begin.at)) * 1000)
    }
    await allEnded(stage, [queue])
    const row = rowOf({
      name: rowNames.busy,
      connections,
      service: figuresOf(rounds),
      floor: null,
      driver: null,
      memory: memory(),
      databaseMemory: stage.database.memory(),
    })
    rows.push({ ...row, meanwhile: middle(ended) })
  }
  await assertOutcomes(stage, queue, since, accepted)
  say(`${accepted} pushes of import ${measured.importId}: as many rows, all of them processed.`)
  return rows
}

async function makeImport({ client, measured }: Stage): Promise<string> {
  const id = newId()
  await client.query(`insert into imports (organization_id, id, name, team_id) values ($1, $2, 'Floor', $3)`, [
    measured.organizationId,
    id,
    measured.teamId,
  ])
  return id
}

function requestsOf({ account }: Stage, known: Known): Request[] {
  const target = new URL(account.triggerUrl).pathname
  return makeTemplates(known, templates, numberMark).map((lead) => ({
    bytes: requestBytes('POST', target, {}, JSON.stringify(lead)),
    length: undefined,
  }))
}

/** Every 200 is a row. */
async function assertKept({ client, measured }: Stage, importId: string, accepted: number): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from import_rows where organization_id = $1 and import_id = $2',
    [measured.organizationId, importId],
  )
  const kept = rows[0]?.count
  if (kept !== accepted) throw new Error(`${accepted} pushes were accepted, but there are ${kept} rows.`)
}
