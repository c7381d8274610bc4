import { newId } from '../../server/src/platform/model/ids.ts'
import { pack } from './exchange.ts'
import { pushStatement } from './floor.ts'
import { requestBytes } from './http.ts'
import { type ExistingRecords, generateTemplates } from './leads.ts'
import { numberPlaceholder, type Request } from './load.ts'
import { type DriverTarget, measureTurn, measureRow, watchMemory } from './measure.ts'
import { waitUntilFinished, assertOutcomes, countFinishedRows, queueOf } from './queue.ts'
import { poolSize, defaultConnections } from './reads.ts'
import { figuresOf, type Measurement, median, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import { type Testbed, startFloor } from './stage.ts'

/** Also with more connections, because the intake inserts several pushes with one statement. */
const pushConnections = [...defaultConnections, 64]
const busyConnections = [64]
const removeRows = 'truncate import_rows, import_row_counts'
/** Number of leads; the number in each makes every push unique. */
const templates = 256

/** Measures accepted pushes on a service without workers. */
export async function measurePushes(stage: Testbed, existing: ExistingRecords): Promise<Row[]> {
  const { client, measured, connection, options, log } = stage
  const { organizationId } = measured
  // Rows remain from the measurement with another number of processes.
  await client.query(removeRows)
  const [floorImport, driverImport] = [await makeImport(stage), await makeImport(stage)]
  const pushes = { organizationId, importId: floorImport }
  const floor = await startFloor({ connection, connections: poolSize, pushes })
  const driver = insertDriver(stage, driverImport, existing)
  const requests = requestsOf(stage, existing)
  const accepted = { service: 0, floor: 0, driver: 0 }
  const rows: Row[] = []
  for (const connections of options.connections ?? pushConnections) {
    log(`${rowNames.pushed}, ${connections} at a time…`)
    const load = { name: rowNames.pushed, requests, connections, seconds: options.seconds }
    // The database has no more connections next to those of the service.
    const others = connections <= poolSize ? [floor, driver] : [floor]
    const { row, good } = await measureRow({ ...stage, rounds: options.rounds }, others, load)
    for (const name of ['service', 'floor', 'driver'] as const) accepted[name] += good[name]
    rows.push(row)
  }
  await floor.stop()
  await assertStored(stage, measured.importId, accepted.service)
  await assertStored(stage, floorImport, accepted.floor)
  await assertStored(stage, driverImport, accepted.driver)
  // Otherwise the service of the next part would process these rows.
  await client.query(removeRows)
  return rows
}

/** The insert of a push, with a new id and number each time. */
function insertDriver({ connection, measured }: Testbed, importId: string, existing: ExistingRecords): DriverTarget {
  const id = newId()
  const target = { organizationId: measured.organizationId, importId }
  const leads = generateTemplates(existing, templates, numberPlaceholder).map((lead) => JSON.stringify(lead))
  return {
    name: 'driver',
    connection,
    packed: pack(leads.map((lead) => [[pushStatement(target, id, lead)]])),
    variableParts: leads.map(() => ({ ids: [id], number: numberPlaceholder })),
    lengths: leads.map(() => null),
  }
}

/** Measures accepted pushes while the service processes them, and then waits until all are processed. */
export async function measureBusyPushes(stage: Testbed, existing: ExistingRecords): Promise<Row[]> {
  const { measured, options, log } = stage
  const requests = requestsOf(stage, existing)
  const queue = queueOf(stage)
  const since = new Date()
  let accepted = 0
  const rows: Row[] = []
  for (const connections of options.connections ?? busyConnections) {
    log(`${rowNames.busy}, ${connections} at a time…`)
    const rounds: Measurement[] = []
    const ended: number[] = []
    const memory = watchMemory(stage.service.program)
    for (let round = 0; round < options.rounds; round++) {
      const boundaries: { at: number; rows: number }[] = []
      const onBoundary = async () =>
        void boundaries.push({ at: performance.now(), rows: await countFinishedRows(stage, [queue]) })
      const load = { name: rowNames.busy, requests, connections, seconds: options.seconds }
      const measurement = await measureTurn(stage.service, stage.database, load, onBoundary)
      accepted += measurement.good
      rounds.push(measurement)
      const [begin, end] = boundaries
      if (!begin || !end) throw new Error('a finished turn must have a begin and an end')
      ended.push(((end.rows - begin.rows) / (end.at - begin.at)) * 1000)
    }
    await waitUntilFinished(stage, [queue])
    const row = rowOf({
      name: rowNames.busy,
      connections,
      service: figuresOf(rounds),
      floor: null,
      driver: null,
      memory: memory(),
      databaseMemory: stage.database.memory(),
    })
    rows.push({ ...row, meanwhile: median(ended) })
  }
  await assertOutcomes(stage, queue, since, accepted)
  log(`${accepted} pushes of import ${measured.importId}: the same number of rows, all processed.`)
  return rows
}

async function makeImport({ client, measured }: Testbed): Promise<string> {
  const id = newId()
  await client.query(`insert into imports (organization_id, id, name, team_id) values ($1, $2, 'Floor', $3)`, [
    measured.organizationId,
    id,
    measured.teamId,
  ])
  return id
}

function requestsOf({ account }: Testbed, existing: ExistingRecords): Request[] {
  const target = new URL(account.triggerUrl).pathname
  return generateTemplates(existing, templates, numberPlaceholder).map((lead) => ({
    bytes: requestBytes('POST', target, {}, JSON.stringify(lead)),
    length: undefined,
  }))
}

/** Checks that every 200 is a row. */
async function assertStored({ client, measured }: Testbed, importId: string, accepted: number): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::integer as count from import_rows where organization_id = $1 and import_id = $2',
    [measured.organizationId, importId],
  )
  const stored = rows[0]?.count
  if (stored !== accepted) throw new Error(`${accepted} pushes were accepted, but there are ${stored} rows.`)
}
