import { text } from 'node:stream/consumers'
import fastify from 'fastify'
import pg from 'pg'
import type { Statement } from './statements.ts'

/** The floor's process: what it needs to know. */
export interface FloorTask {
  connection: pg.ClientConfig
  connections: number
  /** The service's own statements; the one of a record takes its id at `idPosition` of the values. */
  one: Statement & { idPosition: number }
  page: Statement
}

/**
 * The least that a service of this framework and this driver can do: the same statements, nothing else. No credential,
 * no limit, no log, no header of ours. It tells its port and lives until it is ended.
 */
export async function runFloor(): Promise<void> {
  const { connection, connections, one, page } = JSON.parse(await text(process.stdin)) as FloorTask
  const pool = new pg.Pool({ ...connection, max: connections })
  const app = fastify()
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
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  process.stdout.write(`${JSON.stringify({ port: Number(new URL(url).port) })}\n`)
  await new Promise((resolve) => process.once('SIGTERM', resolve))
  await app.close()
  await pool.end()
}
