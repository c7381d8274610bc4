import type pg from 'pg'
import { depthOf, goDeep } from './depth.ts'
import { pack } from './exchange.ts'
import { headersOf, requestBytes, textAt } from './http.ts'
import { type HttpTarget, measureRow } from './measure.ts'
import { type Plan, planOf } from './plans.ts'
import { type Question, questionsOf } from './questions.ts'
import { type Exchange, type Recorder, startRecorder } from './recording.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import { type Stage, startFloor } from './stage.ts'

/** As many connections to the database for service and floor: the service's default. */
export const poolSize = 16

/** At how many connections rows are measured unless others are asked for. */
export const usualConnections: readonly number[] = [1, 16]

/** Asks for contacts, by turns of the service, of the floor and of the driver alone. */
export async function measureReads(
  stage: Stage,
  names: readonly string[],
  sample: Sample,
): Promise<{ rows: Row[]; plans: Plan[] }> {
  const { account, connection, place, service } = stage
  const isDeep = names.includes(rowNames.deep) || names.includes(rowNames.deepByLink)
  const depth = isDeep
    ? await goDeep(service.port, account, depthOf(sample.contacts))
    : { records: 0, ids: [], cursors: [] }
  const questions = questionsOf(sample, depth).filter(({ name }) => names.includes(name))
  const recorder = await startRecorder({ connection, dataFolder: place.dataFolder, headers: headersOf(account) })
  const { asked, plans } = await recordAll(stage, recorder, questions).finally(() => recorder.close())
  const own = { ...connection, options: recorder.settings }
  // One for all rows, as the service is: a new one would be slower until its code and its connections are warm.
  const floor = await startFloor({
    connection: own,
    connections: poolSize,
    reads: {
      targets: questions.flatMap(({ targets }) => targets),
      packed: pack(asked.flatMap((one) => one.exchanges)),
    },
  })
  const rows: Row[] = []
  for (const one of asked) rows.push(...(await measureQuestion({ stage, floor, connection: own }, one)))
  await floor.stop()
  return { rows, plans }
}

/** A question with what each of its requests makes the service send. */
interface Asked {
  question: Question
  exchanges: Exchange[]
}

async function recordAll({ connection, say }: Stage, recorder: Recorder, questions: readonly Question[]) {
  say('Recording what the service sends…')
  const [asked, plans]: [Asked[], Plan[]] = [[], []]
  for (const question of questions) {
    const exchanges: Exchange[] = []
    for (const target of question.targets) exchanges.push((await recorder.record(target)).exchange)
    asked.push({ question, exchanges })
    // The planner decides by the settings of the connection too.
    const plan = await planOf({ ...connection, options: recorder.settings }, question, exchanges)
    if (plan) plans.push(plan)
  }
  return { asked, plans }
}

/** What a row of reads is measured with. */
interface Targets {
  stage: Stage
  floor: HttpTarget
  connection: pg.ClientConfig
}

async function measureQuestion({ stage, floor, connection }: Targets, { question, exchanges }: Asked): Promise<Row[]> {
  const { account, options, say } = stage
  const { name, targets } = question
  say(`${name}…`)
  const texts = await sameTexts([stage.service, floor], question, headersOf(account))
  const requests = targets.map((target, index) => ({
    bytes: requestBytes('GET', target, headersOf(account)),
    length: Buffer.byteLength(texts[index] ?? ''),
  }))
  const lengths = texts.map(({ length }) => length)
  const driver = { name: 'driver', connection, packed: pack(exchanges), lengths } as const
  const rows: Row[] = []
  for (const connections of options.connections ?? usualConnections) {
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
async function sameTexts(
  targets: readonly HttpTarget[],
  { name, targets: asked, records }: Question,
  headers: Record<string, string>,
): Promise<string[]> {
  const texts: string[] = []
  for (const target of asked) {
    const [text = '', other] = await Promise.all(targets.map(({ port }) => textAt(port, target, headers)))
    if (text !== other) throw new Error(`Service and floor answer differently (${name}, ${target}):\n${text}\n${other}`)
    const count = (JSON.parse(text) as unknown[]).length
    if (records && !(count >= records[0] && count <= records[1])) {
      throw new Error(`${name}: ${target} gave ${count} records, not ${records.join(' to ')}.`)
    }
    texts.push(text)
  }
  return texts
}
