import { setTimeout as delay } from 'node:timers/promises'
import { linesOf, startRole } from './children.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { bootstrap } from '../shared/service.ts'
import { headersOf, requestBytes } from './http.ts'
import type { LoadTask } from './load.ts'
import { type Load, measureTurn, rotate } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import type { Testbed } from './stage.ts'
import { addEvents, receive, untilReceived } from './webhooks.ts'

/** Connections of the busy organization. */
const greedyConnections = 64
/** 200 in a full run. */
const pushesPerSecond = 70
/** More than are sent while the reads are measured. */
const deliveriesPerSecond = 3000
/** German dates are the most expensive to find. */
const note = 'Rückruf am 3. März um 14 Uhr, sonst nächsten Dienstag gegen halb zehn oder in drei Wochen. '.repeat(210)

/**
 * Measures how one organization affects another: the latter's reads, one at a time, while the former sends as much as
 * it can and, as the floor, alone. Any status except 200 in the measured organization is an error.
 */
export async function measureTenants(stage: Testbed, sample: Sample, names: readonly string[]): Promise<Row[]> {
  const works = {
    [rowNames.nextToReads]: nextToReads,
    [rowNames.nextToNotes]: nextToNotes,
    [rowNames.nextToWebhooks]: nextToWebhooks,
  }
  const wanted = Object.entries(works).filter(([name]) => names.includes(name))
  if (wanted.length === 0) return []
  const { workspace, service, database, options, log } = stage
  const { port } = service
  const other = await bootstrap(workspace, { port, dataFolder: workspace.dataFolder }, 'Neighbor')
  const target = '/v5/contacts?limit=1'
  const rows: Row[] = []
  for (const [name, begin] of wanted) {
    log(`${name}…`)
    const requests = [{ bytes: requestBytes('GET', target, headersOf(other)), length: undefined }]
    const load: Load = { name, requests, connections: 1, seconds: options.seconds }
    const measured: Record<'service' | 'floor', Measurement[]> = { service: [], floor: [] }
    for (let round = 0; round < options.rounds; round++)
      for (const kind of rotate(['service', 'floor'] as const, round)) {
        const end = kind === 'service' ? await begin(stage, sample) : undefined
        measured[kind].push(await measureTurn({ ...service, name: kind }, database, load))
        await end?.()
      }
    const [together, alone] = [figuresOf(measured.service), figuresOf(measured.floor)]
    const memory = [undefined, undefined] as const
    rows.push(
      rowOf({ name, connections: 1, service: together, floor: alone, driver: null, memory, databaseMemory: undefined }),
    )
  }
  return rows
}

/** Sends reads with one key, including refused ones, until the returned function is called. */
async function nextToReads({ service, account }: Testbed): Promise<() => Promise<void>> {
  const requests = [{ bytes: requestBytes('GET', '/v5/contacts?limit=1', headersOf(account)), length: undefined }]
  const task: LoadTask = {
    port: service.port,
    requests,
    status: 200,
    firstNumber: 0,
    connections: greedyConnections,
    warmUp: 0,
    seconds: 3600,
  }
  const child = startRole('load', task)
  const end = addCleanup(async () => void child.kill('SIGKILL'))
  for await (const _ of linesOf(child)) break
  return end
}

/** Pushes long notes, which the service then analyses. The returned function waits until all are analysed. */
async function nextToNotes({ service, account, client, measured, options }: Testbed): Promise<() => Promise<void>> {
  const url = new URL(new URL(account.triggerUrl).pathname, `http://127.0.0.1:${service.port}`)
  for (let count = 0; count < options.seconds * pushesPerSecond; count++) {
    const body = JSON.stringify({
      contact: { email: `note-${count}-${Date.now()}@example.com`, note: `${count} ${note}` },
    })
    const headers = { 'content-type': 'application/json' }
    const { status } = await fetch(url, { method: 'POST', headers, body })
    if (status !== 200) throw new Error(`A push got ${status}.`)
  }
  return async () => {
    for (let waiting = 1; waiting > 0; await delay(50)) {
      const { rows } = await client.query<{ count: number }>(
        `select ((select count(*) from notes where organization_id = $1 and reasoning_queued_at is not null)
           + (select count(*) from import_rows where organization_id = $1 and finished_at is null))::integer as count`,
        [measured.organizationId],
      )
      waiting = rows[0]?.count ?? 0
    }
  }
}

/** Stores events for webhooks. The returned function waits until all are sent. */
async function nextToWebhooks(stage: Testbed, sample: Sample): Promise<() => Promise<void>> {
  const receiving = await receive(stage)
  const expected = await addEvents(stage, sample, Math.ceil(stage.options.seconds * deliveriesPerSecond))
  await untilReceived(receiving, 1)
  return async () => {
    await untilReceived(receiving, expected)
    await receiving.close()
  }
}
