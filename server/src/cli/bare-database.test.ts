import { createServer, type Socket } from 'node:net'
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { connect } from '../platform/database/connect.ts'
import { StartError } from '../platform/database/start-error.ts'
import { translateError, withBareDatabase } from './bare-database.ts'
import { Failure } from './command.ts'
import { countServiceConnections } from './restore-target.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createDatabase()
  client = await connect(database.connection)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const errorOf = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => undefined,
    (error: unknown) => error,
  )

const entering = (change: object) => () => connect({ ...database.connection, ...change })
const raising = (code: string) => () =>
  client.query(`do $$ begin raise exception 'as told' using errcode = '${code}'; end $$`)

test('a missing database, a wrong password, a full disk and other errors are explained', async () => {
  const errors: [() => Promise<unknown>, typeof Failure | typeof StartError, RegExp][] = [
    [
      entering({ database: 'nowhere' }),
      StartError,
      /"nowhere" does not exist\. Create the database like this: create database/,
    ],
    [entering({ user: 'nobody_of_that_name' }), StartError, /rejected the user or the password/],
    [raising('28P01'), StartError, /rejected the user or the password/],
    [raising('53100'), Failure, /disk of the database is full.*Free some space/],
    [raising('55P03'), Failure, /Tables of the database are locked.*Try again later/],
    [raising('XX000'), Failure, /^The database reported an error: as told \(XX000\)\.$/],
    [entering({ host: '/nowhere' }), StartError, /^The connection to the database failed/],
  ]
  for (const [work, errorClass, words] of errors) {
    const translated = translateError(await errorOf(work))
    expect(translated).toBeInstanceOf(errorClass)
    expect((translated as Error).message).toMatch(words)
  }
})

test('a server that accepts the connection and never responds is explained', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const config = {
    dataFolder: '/nowhere',
    databaseUrl: `postgres://any@127.0.0.1:${port}/any`,
    postgresBinaries: undefined,
  }
  const work = withBareDatabase(config, 'rapport backup', ({ connection }) => connect(connection, 300))
  await expect(work).rejects.toThrow(
    new StartError('The database did not respond. Check that it is running and that DATABASE_URL is right.'),
  )
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('a connection that is being closed does not count as a service; an open one does', async () => {
  const closing = await connect({ ...database.connection, application_name: 'rapport' })
  let queries = 0
  const query = async (text: string, values: unknown[]) => {
    const result = await client.query(text, values)
    if (queries++ === 0) await closing.end()
    return result
  }
  expect(await countServiceConnections({ query } as unknown as pg.Client, database.connection)).toBe(0)
  expect(queries).toBeGreaterThan(1)
  const service = await connect({ ...database.connection, application_name: 'rapport' })
  expect(await countServiceConnections(client, database.connection)).toBe(1)
  await service.end()
})
