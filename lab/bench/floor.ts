import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance } from 'fastify'
import pg from 'pg'
import { newId } from '../../server/src/platform/model/ids.ts'
import { toQueryConfig, type VariableParts, type Packed, runExchange, repeatable, textOf, unpack } from './exchange.ts'
import type { Exchange, Statement } from './recording.ts'

/** The task of the floor's process. */
export interface FloorTask {
  connection: pg.ClientConfig
  connections: number
  /** The service's own statements for each path with its query. */
  reads?: { targets: readonly string[]; packed: Packed }
  /** The service's own transactions for creates, and the values that differ each time. */
  creates?: { packed: Packed; variableParts: readonly VariableParts[] }
  /** The service's own transactions for changes of these records. */
  changes?: { targets: readonly string[]; packed: Packed; variableParts: readonly VariableParts[] }
  /** The service's own transactions for moves of deals, by path and body. */
  moves?: { requests: readonly string[]; packed: Packed; variableParts: readonly VariableParts[] }
  /** Where pushes are inserted, as UUIDs. */
  pushes?: PushTarget
}

export interface PushTarget {
  organizationId: string
  importId: string
}

/** Same as the service's, so that both keep their connections between turns. */
const idleTimeoutMillis = 60_000

/**
 * The minimum for a service with this framework and driver: only the same statements. No credential check, limits, log
 * or custom headers. It prints its port and runs until SIGTERM.
 */
export async function runFloor(): Promise<void> {
  const { connection, connections, reads, creates, changes, moves, pushes } = JSON.parse(
    await text(process.stdin),
  ) as FloorTask
  const pool = new pg.Pool({ ...connection, max: connections, idleTimeoutMillis, pipeline: true } as pg.PoolConfig)
  const app = fastify()
  if (reads) serveReads(app, pool, reads)
  if (creates) serveCreates(app, pool, creates)
  if (changes) serveChanges(app, pool, changes)
  if (moves) serveMoves(app, pool, moves)
  if (pushes) servePushes(app, pool, pushes)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`)
  await new Promise((resolve) => process.once('SIGTERM', resolve))
  await app.close()
  await pool.end()
}

const jsonContentType = 'application/json; charset=utf-8'

function serveReads(app: FastifyInstance, pool: pg.Pool, { targets, packed }: NonNullable<FloorTask['reads']>): void {
  const exchanges = unpack(packed)
  const exchangeByTarget = new Map(targets.map((target, index) => [target, exchanges[index] ?? []]))
  const paths = [
    ...['/v5/contacts/:id', '/v5/contacts/count', '/v5/contacts', '/v5/contacts/:id/timeline'],
    ...['/v5/deals', '/v5/deals/summary'],
  ]
  for (const path of paths) {
    app.get(path, async (request, reply) => {
      const exchange = exchangeByTarget.get(request.url)
      if (!exchange) return reply.code(404).send()
      const [[statement, ...others] = [], ...moreTrips] = exchange
      const isOne = statement && others.length + moreTrips.length === 0
      // Definitions of custom properties are fetched before the records.
      const text = isOne ? textOf(await pool.query(toQueryConfig(statement))) : await runOnOne(pool, exchange)
      return reply.type(jsonContentType).send(text)
    })
  }
}

async function runOnOne(pool: pg.Pool, exchange: Exchange): Promise<string> {
  const client = await pool.connect()
  try {
    return await runExchange(client, exchange)
  } finally {
    client.release()
  }
}

/** The template and the number in an email address. */
const createdEmail = /^bench-(\d+)-(\d+)@/

function serveCreates(
  app: FastifyInstance,
  pool: pg.Pool,
  { packed, variableParts }: NonNullable<FloorTask['creates']>,
): void {
  const makers = unpack(packed).map((exchange, index) =>
    repeatable(exchange, variableParts[index] ?? { ids: [], number: '' }),
  )
  app.post<{ Body: { email: string } }>('/v5/contacts', async (request, reply) => {
    const [, template, number = ''] = createdEmail.exec(request.body.email) ?? []
    const make = makers[Number(template)]
    if (!make) return reply.code(404).send()
    const client = await pool.connect()
    try {
      return await reply
        .code(201)
        .type(jsonContentType)
        .send(await runExchange(client, make(number)))
    } finally {
      client.release()
    }
  })
}

/** The number in a changed value, which may have another digit before it. */
const changedNumber = /\d{8}(?!\d)/

function serveChanges(
  app: FastifyInstance,
  pool: pg.Pool,
  { targets, packed, variableParts }: NonNullable<FloorTask['changes']>,
): void {
  const makers = makersOf(targets, packed, variableParts)
  app.patch<{ Body: object }>('/v5/contacts/:id', async (request, reply) => {
    const make = makers.get(request.url)
    if (!make) return reply.code(404).send()
    const [number = ''] = changedNumber.exec(JSON.stringify(request.body)) ?? []
    return reply.type(jsonContentType).send(await runOnOne(pool, make(number)))
  })
}

/** Further up than the moves of the service, which are one apart. */
const firstPosition = 30_000_000
const positionStep = 1000

function serveMoves(
  app: FastifyInstance,
  pool: pg.Pool,
  { requests, packed, variableParts }: NonNullable<FloorTask['moves']>,
): void {
  const makers = makersOf(requests, packed, variableParts)
  let position = firstPosition
  app.post<{ Body: object }>('/v5/deals/:id/move', async (request, reply) => {
    const make = makers.get(`${request.url} ${JSON.stringify(request.body)}`)
    if (!make) return reply.code(404).send()
    return reply.type(jsonContentType).send(await runOnOne(pool, make(String((position += positionStep)))))
  })
}

function makersOf(keys: readonly string[], packed: Packed, variableParts: readonly VariableParts[]) {
  const exchanges = unpack(packed)
  return new Map(
    keys.map((key, index) => [
      key,
      repeatable(exchanges[index] ?? [], variableParts[index] ?? { ids: [], number: '' }),
    ]),
  )
}

/** One row and one commit for each push; the body is not parsed. */
function servePushes(app: FastifyInstance, pool: pg.Pool, target: PushTarget): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.post('/v5/imports/:importId/trigger/:hash', async (request, reply) => {
    const id = newId()
    const { rows } = await pool.query<{ created_at: Date }>(pushStatement(target, id, String(request.body)))
    return reply.send({ id, status: 'PENDING', createdAt: rows[0]?.created_at })
  })
}

/** Inserts a push as one row. */
export const pushStatement = ({ organizationId, importId }: PushTarget, id: string, payload: string): Statement => ({
  name: 'push',
  text: `insert into import_rows (organization_id, id, import_id, payload, parameters)
    values ($1, $2, $3, $4, '{}') returning created_at, status as text`,
  values: [organizationId, id, importId, payload],
})
