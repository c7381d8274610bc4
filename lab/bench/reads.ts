import type pg from 'pg'
import { depthOf, collectDeepCursors } from './depth.ts'
import { pack } from './exchange.ts'
import { headersOf, requestBytes, fetchText } from './http.ts'
import { type HttpTarget, measureRow } from './measure.ts'
import { type Plan, planOf } from './plans.ts'
import { type ReadQuery, readQueries } from './read-queries.ts'
import { type Exchange, type Recorder, startRecorder } from './recording.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import { type Stage, startFloor } from './stage.ts'

/** As many connections to the database for service and floor: the service's default. */
export const poolSize = 16

/** At how many connections rows are measured unless others are asked for. */
export const defaultConnections: readonly number[] = [1, 16]

/** Asks for contacts, by turns of the service, of the floor and of the driver alone. */
export async function measureReads(
  stage: Stage,
  names: readonly string[],
  sample: Sample,
): Promise<{ rows: Row[]; plans: Plan[] }> {
  const { account, connection, workspace, service } = stage
  const isDeep = names.includes(rowNames.deep) || names.includes(rowNames.deepByLink)
  const depth = isDeep
    ? await collectDeepCursors(service.port, account, depthOf(sample.contacts))
    : { records: 0, ids: [], cursors: [] }
  const queries = readQueries(sample, depth).filter(({ name }) => names.includes(name))
  const recorder = await startRecorder({ connection, dataFolder: workspace.dataFolder, headers: headersOf(account) })
  const { recorded, plans } = await recordAll(stage, recorder, queries).finally(() => recorder.close())
  const recordedConnection = { ...connection, options: recorder.settings }
  // One for all rows, as the service is: a new one would be slower until its code and its connections are warm.
  const floor = await startFloor({
    connection: recordedConnection,
    connections: poolSize,
    reads: {
      targets: queries.flatMap(({ targets }) => targets),
      packed: pack(recorded.flatMap((one) => one.exchanges)),
    },
  })
  const rows: Row[] = []
  for (const one of recorded) rows.push(...(await measureQuery({ stage, floor, connection: recordedConnection }, one)))
  await floor.stop()
  return { rows, plans }
}

/** A question with what each of its requests makes the service send. */
interface RecordedQuery {
  query: ReadQuery
  exchanges: Exchange[]
}

async function recordAll({ connection, log }: Stage, recorder: Recorder, queries: readonly ReadQuery[]) {
  log('Recording what the service sends…')
  const [recorded, plans]: [RecordedQuery[], Plan[]] = [[], []]
  for (const query of queries) {
    const exchanges: Exchange[] = []
    for (const target of query.targets) exchanges.push((await recorder.record(target)).exchange)
    recorded.push({ query, exchanges })
    // The planner decides by the settings of the connection too.
    const plan = await planOf({ ...connection, options: recorder.settings }, query, exchanges)
    if (plan) plans.push(plan)
  }
  return { recorded: recorded, plans }
}

/** What a row of reads is measured with. */
interface Targets {
  stage: Stage
  floor: HttpTarget
  connection: pg.ClientConfig
}

async function measureQuery(
  { stage, floor, connection }: Targets,
  { query, exchanges }: RecordedQuery,
): Promise<Row[]> {
  const { account, options, log } = stage
  const { name, targets } = query
  log(`${name}…`)
  const texts = await fetchExpectedTexts([stage.service, floor], query, headersOf(account))
  const requests = targets.map((target, index) => ({
    bytes: requestBytes('GET', target, headersOf(account)),
    length: Buffer.byteLength(texts[index] ?? ''),
  }))
  const lengths = texts.map(({ length }) => length)
  const driver = { name: 'driver', connection, packed: pack(exchanges), lengths } as const
  const rows: Row[] = []
  for (const connections of options.connections ?? defaultConnections) {
    const load = { name, requests, connections, seconds: options.seconds }
    const { row } = await measureRow({ ...stage, rounds: options.rounds }, [floor, driver], load)
    rows.push(row)
  }
  return rows
}

/**
 * What both answer to each request of the row: a floor that answers something else would measure something else. The
 * answers that are measured are held against these by their length. Errors: they differ, or hold too few or too many.
 */
async function fetchExpectedTexts(
  targets: readonly HttpTarget[],
  { name, targets: recorded, records }: ReadQuery,
  headers: Record<string, string>,
): Promise<string[]> {
  const texts: string[] = []
  for (const target of recorded) {
    const [text = '', other] = await Promise.all(targets.map(({ port }) => fetchText(port, target, headers)))
    if (text !== other) throw new Error(`Service and floor answer differently (${name}, ${target}):\n${text}\n${other}`)
    const count = (JSON.parse(text) as unknown[]).length
    if (records && !(count >= records[0] && count <= records[1])) {
      throw new Error(`${name}: ${target} gave ${count} records, not ${records.join(' to ')}.`)
    }
    texts.push(text)
  }
  return texts
}
