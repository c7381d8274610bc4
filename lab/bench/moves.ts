import { encodeId } from '../../server/src/platform/model/ids.ts'
import { eventIdsIn, pack, type VariableParts } from './exchange.ts'
import { headersOf, requestBytes } from './http.ts'
import { measureRow } from './measure.ts'
import { defaultConnections, poolSize } from './reads.ts'
import { type Exchange, startRecorder } from './recording.ts'
import type { Row } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import { type Testbed, startFloor } from './stage.ts'

/** Number of deals that are moved in turn, each to every stage: most requests find their deal in another one. */
const deals = 100
const headers = { 'content-type': 'application/json' }

/** Measures moves of deals. The floor moves the same deals. */
export async function measureMoves(stage: Testbed, sample: Sample): Promise<Row[]> {
  const { account, workspace, options, log } = stage
  const accountHeaders = headersOf(account)
  const recorder = await startRecorder({
    connection: stage.connection,
    dataFolder: workspace.dataFolder,
    headers: accountHeaders,
  })
  const stages = await findStages(stage)
  const moves: { target: string; body: string }[] = []
  const exchanges: Exchange[] = []
  for (const round of stages.keys()) {
    for (const { id, stageId: current } of sample.deals.slice(0, deals)) {
      // Last to the stage where the deal is, so that each recorded move leaves another one.
      const after = stages.indexOf(encodeId('stg', current)) + 1
      const stageId = stages[(after + round) % stages.length]
      const move = { target: `/v5/deals/${encodeId('del', id)}/move`, body: JSON.stringify({ stageId }) }
      moves.push(move)
      exchanges.push((await recorder.record(move.target, { method: 'POST', body: move.body, headers })).exchange)
    }
  }
  await recorder.close()
  const connection = { ...stage.connection, options: recorder.settings }
  const packed = pack(exchanges)
  const variableParts = exchanges.map(createdBy)
  const requests = moves.map(({ target, body }) => `${target} ${body}`)
  const floor = await startFloor({ connection, connections: poolSize, moves: { requests, packed, variableParts } })
  const sent = moves.map(({ target, body }) => ({
    bytes: requestBytes('POST', target, accountHeaders, body),
    length: undefined,
  }))
  const rows: Row[] = []
  for (const connections of options.connections ?? defaultConnections) {
    log(`${rowNames.moved}, ${connections} at a time…`)
    const load = { name: rowNames.moved, requests: sent, connections, seconds: options.seconds }
    rows.push((await measureRow({ ...stage, rounds: options.rounds }, [floor], load)).row)
  }
  await floor.stop()
  return rows
}

async function findStages({ client, measured }: Testbed): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select id from stages where organization_id = $1 and deleted_at is null order by position',
    [measured.organizationId],
  )
  return rows.map(({ id }) => encodeId('stg', id))
}

/** The id of the recorded stage move, and the digits of the deal's position: each move goes to the top of its stage. */
function createdBy(exchange: Exchange): VariableParts {
  const ids = eventIdsIn(exchange)
  let number = ''
  for (const { text, values } of exchange.flat()) {
    const sent = values.join(' ')
    if (text.includes('into stage_moves')) ids.push(/"id":"([0-9a-f-]{36})"/.exec(sent)?.[1] ?? '')
    number ||= /"position":"-([0-9.]+)"/.exec(sent)?.[1] ?? ''
  }
  if (ids.length < 2 || number === '') throw new Error('The recorded move did not move its deal.')
  return { ids, number }
}
