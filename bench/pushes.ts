import { newId } from '../server/src/platform/resource/ids.ts'
import type { Known } from './leads.ts'
import { makeTemplates } from './leads.ts'
import { numberMark } from './load.ts'
import { measureOnce, watchMemory } from './measure.ts'
import { allEnded, assertOutcomes, endedRows } from './queue.ts'
import { poolSize } from './reads.ts'
import { figuresOf, type Measurement, middle, type Row, rowOf } from './report.ts'
import { type Stage, startFloor } from './stage.ts'

export const pushRow = 'push'
export const busyPushRow = 'push, while rows are processed'

const usualConnections = [64]
/** Different leads; the number in each makes every push another one. */
const templates = 256

/** How many pushes are accepted while nobody works on them: the stage's service has no workers. */
export async function measurePushes(stage: Stage, known: Known): Promise<Row[]> {
  const { client, measured, connection, options, say } = stage
  const floorImport = await makeImport(stage)
  const { organizationId } = measured
  const pushes = { organizationId, importId: floorImport }
  const floor = await startFloor({ connection, connections: poolSize, pushes })
  const requests = requestsOf(stage, known)
  const accepted = { service: 0, floor: 0 }
  const rows: Row[] = []
  for (const connections of options.connections ?? usualConnections) {
    say(`${pushRow}, ${connections} at a time…`)
    const rounds = { service: [] as Measurement[], floor: [] as Measurement[] }
    const memory = watchMemory(stage.service.program)
    for (let round = 0; round < options.rounds; round++) {
      for (const target of [stage.service, floor]) {
        const load = { name: pushRow, requests, connections, seconds: options.seconds }
        const measurement = await measureOnce(target, stage.database, load)
        accepted[target.name] += measurement.good
        rounds[target.name].push(measurement)
      }
    }
    rows.push(rowOf(pushRow, connections, figuresOf(rounds.service), figuresOf(rounds.floor), memory()))
  }
  await floor.stop()
  await assertKept(stage, measured.importId, accepted.service)
  await assertKept(stage, floorImport, accepted.floor)
  // What was pushed here is no work of the rows that follow.
  await client.query('truncate import_rows, import_row_counts')
  return rows
}

/** The same while the service works on what it accepts; then it is left to work through the rest. */
export async function measureBusyPushes(stage: Stage, known: Known): Promise<Row[]> {
  const { measured, options, say } = stage
  const requests = requestsOf(stage, known)
  const since = new Date()
  let accepted = 0
  const rows: Row[] = []
  for (const connections of options.connections ?? usualConnections) {
    say(`${busyPushRow}, ${connections} at a time…`)
    const rounds: Measurement[] = []
    const ended: number[] = []
    const memory = watchMemory(stage.service.program)
    for (let round = 0; round < options.rounds; round++) {
      const borders: { at: number; rows: number }[] = []
      const atBorders = async () => void borders.push({ at: performance.now(), rows: await endedRows(stage) })
      const load = { name: busyPushRow, requests, connections, seconds: options.seconds }
      const measurement = await measureOnce(stage.service, stage.database, load, atBorders)
      accepted += measurement.good
      rounds.push(measurement)
      const [begin, end] = borders
      if (begin && end) ended.push(((end.rows - begin.rows) / (end.at - begin.at)) * 1000)
    }
    await allEnded(stage)
    const row = rowOf(busyPushRow, connections, figuresOf(rounds), null, memory())
    rows.push({ ...row, meanwhile: middle(ended) ?? 0 })
  }
  await assertOutcomes(stage, since, accepted)
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

function requestsOf({ account }: Stage, known: Known): string[] {
  return makeTemplates(known, templates, numberMark).map((lead) => {
    const body = JSON.stringify(lead)
    const head = [
      `POST ${new URL(account.triggerUrl).pathname} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    return `${head.join('\r\n')}\r\n\r\n${body}`
  })
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
