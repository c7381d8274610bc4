import type pg from 'pg'
import { depthOf, collectDeepCursors } from './depth.ts'
import { pack } from './exchange.ts'
import { headersOf, requestBytes, fetchText } from './http.ts'
import { measureRow } from './measure.ts'
import { indexedQueries } from './indexed-properties.ts'
import { type Plan, planOf } from './plans.ts'
import { type ReadQuery, readQueries } from './read-queries.ts'
import { type Exchange, type Recorder, startRecorder } from './recording.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import { type Testbed, startFloor } from './stage.ts'
import type { HttpTarget } from './http-target.ts'

/** Database connections of service and floor: the service's default. */
export const poolSize = 16

/** Concurrent connections, unless the options name others. */
export const defaultConnections: readonly number[] = [1, 16]

/** Measures reads of service, floor and driver. */
export async function measureReads(
  stage: Testbed,
  names: readonly string[],
  sample: Sample,
): Promise<{ rows: Row[]; plans: Plan[] }> {
  const { account, connection, workspace, service } = stage
  const isDeep = names.includes(rowNames.deep) || names.includes(rowNames.deepByLink)
  const depth = isDeep
    ? await collectDeepCursors(service.port, account, depthOf(sample.contacts))
    : { records: 0, ids: [], cursors: [] }
  const queries = [...readQueries(sample, depth), ...indexedQueries(sample)].filter(({ name }) => names.includes(name))
  const recorder = await startRecorder({ connection, dataFolder: workspace.dataFolder, headers: headersOf(account) })
  const { recorded, plans } = await recordAll(stage, recorder, queries).finally(() => recorder.close())
  const recordedConnection = { ...connection, options: recorder.settings }
  // One floor for all rows, like the service: a new one would be slower until its code and connections are warm.
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

/** A read with the statements that the service sends for each request. */
interface RecordedQuery {
  query: ReadQuery
  exchanges: Exchange[]
}

async function recordAll({ connection, log }: Testbed, recorder: Recorder, queries: readonly ReadQuery[]) {
  log('Recording the statements of the service…')
  const [recorded, plans]: [RecordedQuery[], Plan[]] = [[], []]
  for (const query of queries) {
    const exchanges: Exchange[] = []
    for (const target of query.targets) exchanges.push((await recorder.record(target)).exchange)
    recorded.push({ query, exchanges })
    // The connection's settings affect the planner.
    const plan = await planOf({ ...connection, options: recorder.settings }, query, exchanges)
    if (plan) plans.push(plan)
  }
  return { recorded: recorded, plans }
}

/** What a read row is measured with. */
interface Targets {
  stage: Testbed
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
 * Fetches the response to each request from both targets; they must be the same. The measured responses are then
 * checked by the length of these texts. Errors: the responses differ, or contain too few or too many records.
 */
async function fetchExpectedTexts(
  targets: readonly HttpTarget[],
  { name, targets: recorded, records }: ReadQuery,
  headers: Record<string, string>,
): Promise<string[]> {
  const texts: string[] = []
  for (const target of recorded) {
    const [text = '', other] = await Promise.all(targets.map(({ port }) => fetchText(port, target, headers)))
    if (text !== other)
      throw new Error(`The responses of service and floor differ (${name}, ${target}):\n${text}\n${other}`)
    const count = (JSON.parse(text) as unknown[]).length
    if (records && !(count >= records[0] && count <= records[1])) {
      throw new Error(`${name}: ${target} returned ${count} records, expected ${records.join(' to ')}.`)
    }
    texts.push(text)
  }
  return texts
}
