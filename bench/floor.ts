import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance } from 'fastify'
import pg from 'pg'
import { newId } from '../server/src/platform/resource/ids.ts'
import type { Statement } from './statements.ts'

/** The floor's process: what it needs to know. */
export interface FloorTask {
  connection: pg.ClientConfig
  connections: number
  /** The service's own statements; the one of a record takes its id at `idPosition` of the values. */
  reads?: { one: Statement & { idPosition: number }; page: Statement }
  /** Where pushes are put, as uuids. */
  pushes?: { organizationId: string; importId: string }
}

/**
 * The least that a service of this framework and this driver can do: the same statements, nothing else. No credential,
 * no limit, no log, no header of ours. It tells its port and lives until it is ended.
 */
export async function runFloor(): Promise<void> {
  const { connection, connections, reads, pushes } = JSON.parse(await text(process.stdin)) as FloorTask
  const pool = new pg.Pool({ ...connection, max: connections })
  const app = fastify()
  if (reads) serveReads(app, pool, reads)
  if (pushes) takePushes(app, pool, pushes)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`)
  await new Promise((resolve) => process.once('SIGTERM', resolve))
  await app.close()
  await pool.end()
}

function serveReads(app: FastifyInstance, pool: pg.Pool, { one, page }: NonNullable<FloorTask['reads']>): void {
  app.get<{ Params: { id: string } }>('/v5/contacts/:id', async (request, reply) => {
    const values = [...one.values]
    values[one.idPosition] = request.params.id.slice('con_'.length)
    const { rows } = await pool.query<{ text: string }>({ ...one, values })
    return reply.type('application/json; charset=utf-8').send(rows[0]?.text)
  })
  app.get('/v5/contacts', async (_request, reply) => {
    const { rows } = await pool.query<{ text: string }>({ ...page, values: [...page.values] })
    return reply.type('application/json; charset=utf-8').send(rows[0]?.text)
  })
}

/** One row and one commit for each push, the body not even looked at. */
function takePushes(app: FastifyInstance, pool: pg.Pool, to: NonNullable<FloorTask['pushes']>): void {
  const insert = {
    name: 'push',
    text: `insert into import_rows (organization_id, id, import_id, payload, parameters)
      values ($1, $2, $3, $4, '{}') returning created_at`,
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.post('/v5/imports/:importId/trigger/:hash', async (request, reply) => {
    const id = newId()
    const values = [to.organizationId, id, to.importId, request.body]
    const { rows } = await pool.query<{ created_at: Date }>({ ...insert, values })
    return reply.send({ id, status: 'PENDING', createdAt: rows[0]?.created_at })
  })
}
