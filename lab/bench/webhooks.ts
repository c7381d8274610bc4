import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '../../server/src/platform/model/ids.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { headersOf } from './http.ts'
import { stopwatch, watchMemory } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import type { Testbed } from './stage.ts'

/** All of them get each event; every webhook has at most four requests in progress. */
const webhookCount = 4
/** Milliseconds. */
const pollInterval = 5
const stallTimeout = 60_000
/** Before the rounds, 1/4 of a round's events are sent uncounted to warm up the code. */
const warmUpShare = 4
/** The service may send to this address. */
export const webhookSettings = { EGRESS_ALLOW: '127.0.0.1' }

/** A program in this process that accepts events, and webhooks of the measured organization that send to it. */
export interface Receiving {
  received(): number
  /** Errors: an event was sent twice, or its success is not stored. */
  close(): Promise<void>
}

export async function receive(stage: Testbed): Promise<Receiving> {
  let count = 0
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      count++
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = addCleanup(() => closeServer(server))
  const { port } = server.address() as AddressInfo
  for (let number = 0; number < webhookCount; number++) await addWebhook(stage, `http://127.0.0.1:${port}/${number}`)
  return {
    received: () => count,
    close: async () => {
      await assertDelivered(stage, count)
      await removeWebhooks(stage)
      await stop()
    },
  }
}

async function addWebhook({ account, service }: Testbed, url: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${service.port}/v5/webhooks`, {
    method: 'POST',
    headers: { ...headersOf(account), 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['contact.updated'], scopes: ['contact:list:read'] }),
  })
  if (response.status !== 201) throw new Error(`A webhook was refused: ${await response.text()}`)
}

/** Other rows of the organization cause no deliveries then. Locks in the order of the service. */
async function removeWebhooks({ client, measured: { organizationId } }: Testbed): Promise<void> {
  await client.query('begin')
  await client.query('select from webhook_states where organization_id = $1 for update', [organizationId])
  await client.query('delete from webhooks where organization_id = $1', [organizationId])
  await client.query('commit')
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

/** Stores changes of contacts, as their transactions would; each causes as many deliveries as there are webhooks. */
export async function addEvents({ client, measured }: Testbed, sample: Sample, deliveries: number): Promise<number> {
  const events = Math.ceil(deliveries / webhookCount)
  const contactIds = Array.from({ length: events }, (_, index) => sample.ids[index % sample.ids.length])
  await client.query(
    `insert into events (organization_id, id, record_id, resource, kind, is_history, revision, source, changes)
     select $1, id, record_id, 'contact', 'updated', true, 2, 'command', '[{"field": "city", "before": "Rome", "after": "Paris"}]'
     from unnest($2::uuid[], $3::uuid[]) event (id, record_id)`,
    [measured.organizationId, contactIds.map(() => newId()), contactIds],
  )
  return events * webhookCount
}

/** Resolves when so many requests have arrived. Errors: none arrives within the timeout. */
export async function untilReceived({ received }: Receiving, count: number): Promise<void> {
  let [last, deadline] = [-1, 0]
  for (; received() < count; await delay(pollInterval)) {
    if (received() !== last) [last, deadline] = [received(), performance.now() + stallTimeout]
    else if (performance.now() > deadline) throw new Error(`${last} of ${count} events were delivered.`)
  }
}

/** Measures the deliveries of waiting events to a program on the same machine that accepts each at once. */
export async function measureWebhooks(stage: Testbed, sample: Sample): Promise<Row[]> {
  const { options, log } = stage
  log(`${rowNames.delivered}, ${options.queue} in each round…`)
  const receiving = await receive(stage)
  await deliver(stage, receiving, sample, Math.ceil(options.queue / warmUpShare))
  const rounds: Measurement[] = []
  const memory = watchMemory(stage.service.program)
  for (let round = 0; round < options.rounds; round++)
    rounds.push(await deliver(stage, receiving, sample, options.queue))
  await receiving.close()
  return [
    rowOf({
      name: rowNames.delivered,
      connections: null,
      service: figuresOf(rounds),
      floor: null,
      driver: null,
      memory: memory(),
      databaseMemory: stage.database.memory(),
    }),
  ]
}

/** Measures from the first to the last request. */
async function deliver(stage: Testbed, receiving: Receiving, sample: Sample, count: number): Promise<Measurement> {
  const earlier = receiving.received()
  const expected = await addEvents(stage, sample, count)
  await untilReceived(receiving, earlier + 1)
  const cpuSince = stopwatch(stage.service.program, stage.database)
  const startedAt = performance.now()
  const before = receiving.received()
  await untilReceived(receiving, earlier + expected)
  const seconds = (performance.now() - startedAt) / 1000
  return { responses: earlier + expected - before, seconds, ...cpuSince() }
}

/** Resolves when so many deliveries are stored as delivered, and no others. Errors: they are not within the timeout. */
async function assertDelivered({ client, measured }: Testbed, count: number): Promise<void> {
  const states = async () =>
    (
      await client.query<{ status: string; count: number }>(
        `select status, count(*)::integer as count from webhook_deliveries where organization_id = $1 group by status`,
        [measured.organizationId],
      )
    ).rows
  const isComplete = ([only, ...others]: { status: string; count: number }[]) =>
    others.length === 0 && only?.status === 'delivered' && only.count === count
  const deadline = performance.now() + stallTimeout
  for (;;) {
    const found = await states()
    if (isComplete(found)) return
    if (performance.now() > deadline)
      throw new Error(`${count} requests arrived, but the deliveries are ${JSON.stringify(found)}.`)
    await delay(pollInterval)
  }
}
