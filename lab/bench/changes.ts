import { encodeId } from '../../server/src/platform/model/ids.ts'
import { eventIdsIn, pack } from './exchange.ts'
import { headersOf, requestBytes } from './http.ts'
import { numberPlaceholder } from './load.ts'
import { measureRow } from './measure.ts'
import { defaultConnections, poolSize } from './reads.ts'
import { startRecorder } from './recording.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import { type Testbed, startFloor } from './stage.ts'

/** Number of contacts that are changed in turn: more than connections, so that few have to wait for each other. */
const contacts = 500
/** The number in the recorded changes, which placeholders replace. */
const recordedNumber = '98764321'

/** Measures changes of two fields of a contact. Floor and driver change the same contacts. */
export async function measureChanges(
  stage: Testbed,
  sample: Sample,
  { name = rowNames.changed as string, body = changedText } = {},
): Promise<Row[]> {
  const { account, workspace, options, log } = stage
  const headers = headersOf(account)
  const recorder = await startRecorder({ connection: stage.connection, dataFolder: workspace.dataFolder, headers })
  const targets = sample.ids.slice(0, contacts).map((id) => `/v5/contacts/${encodeId('con', id)}`)
  const exchanges = []
  for (const target of targets) {
    const sent = { method: 'PATCH', body: body(recordedNumber), headers: { 'content-type': 'application/json' } }
    exchanges.push((await recorder.record(target, sent)).exchange)
  }
  await recorder.close()
  const connection = { ...stage.connection, options: recorder.settings }
  const packed = pack(exchanges)
  const variableParts = exchanges.map((exchange) => ({ ids: eventIdsIn(exchange), number: recordedNumber }))
  const floor = await startFloor({ connection, connections: poolSize, changes: { targets, packed, variableParts } })
  const driver = {
    name: 'driver',
    connection,
    packed,
    variableParts,
    lengths: variableParts.map(() => null),
  } as const
  const requests = targets.map((target) => ({
    bytes: requestBytes('PATCH', target, headers, body(numberPlaceholder)),
    length: undefined,
  }))
  const rows: Row[] = []
  for (const connections of options.connections ?? defaultConnections) {
    log(`${name}, ${connections} at a time…`)
    const load = { name, requests, connections, seconds: options.seconds }
    rows.push((await measureRow({ ...stage, rounds: options.rounds }, [floor, driver], load)).row)
  }
  await floor.stop()
  return rows
}

const changedText = (number: string): string =>
  JSON.stringify({ city: `City ${number}`, employmentTitle: `Title ${number}` })

/** A change of an indexed number. */
export const changedScore = (number: string): string => `{"customProperties":{"score":1${number}}}`
