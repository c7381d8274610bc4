import type pg from 'pg'
import { expect, type TestContext, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { checkDatabase } from './check.ts'
import { connect } from './connect.ts'
import { isConnectionLoss } from './failures.ts'
import { StartError } from './start-error.ts'

async function emptyDatabase({ onTestFinished }: TestContext): Promise<TestDatabase['connection']> {
  const { connection, drop } = await createEmptyDatabase()
  onTestFinished(drop)
  return connection
}

async function run(connection: pg.ClientConfig, ...statements: string[]): Promise<unknown[]> {
  const client = await connect(connection)
  try {
    let rows: unknown[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

const refusal = async (connection: pg.ClientConfig): Promise<string> => {
  const error = await checkDatabase(connection, 'assumed').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

/** A user as in a managed database: not a superuser, and the owner of nothing by default. */
async function createPlainUser(
  connection: TestDatabase['connection'],
  { onTestFinished }: TestContext,
): Promise<string> {
  const name = `plain_${connection.database}`
  await run(connection, `create role ${name} login`)
  onTestFinished(() => run({ ...connection, database: 'postgres' }, `drop role ${name}`).then(() => undefined))
  return name
}

test('a suitable database passes the check and is left unchanged', async (context) => {
  const connection = await emptyDatabase(context)
  await checkDatabase(connection, 'assumed')
  expect(await run(connection, `select extname from pg_extension where extname <> 'plpgsql'`)).toEqual([])
})

test('several processes can check a database at once', async (context) => {
  const connection = await emptyDatabase(context)
  await expect(Promise.all([1, 2, 3, 4].map(() => checkDatabase(connection, 'assumed')))).resolves.toHaveLength(4)
})

test('an owner need not be a superuser, but must be allowed to create extensions', async (context) => {
  const connection = await emptyDatabase(context)
  const user = await createPlainUser(connection, context)
  await run(connection, `grant create on schema public to ${user}`)
  expect(await refusal({ ...connection, user })).toMatch(/needs the extension pg_trgm: permission denied.*grant create/)
  await run(connection, `grant create on database ${connection.database} to ${user}`)
  await checkDatabase({ ...connection, user }, 'assumed')
  await run(connection, `revoke all on database ${connection.database} from ${user}`, `drop owned by ${user}`)
})

test('a user who may not create tables gets an error that says so', async (context) => {
  const connection = await emptyDatabase(context)
  const user = await createPlainUser(connection, context)
  expect(await refusal({ ...connection, user })).toContain('not allowed to create tables')
})

test('a database with an ASCII-only ctype or an encoding other than UTF-8 is rejected', async (context) => {
  const connection = await emptyDatabase(context)
  const make = async (options: string) => {
    const database = `${connection.database}_other`
    await run(
      connection,
      `drop database if exists ${database}`,
      `create database ${database} template template0 ${options}`,
    )
    return { ...connection, database }
  }
  context.onTestFinished(() =>
    run({ ...connection, database: 'postgres' }, `drop database ${connection.database}_other`).then(() => undefined),
  )
  const libc = `locale_provider libc`
  expect(await refusal(await make(`${libc} locale 'C'`))).toMatch(/no letters beyond ASCII \(its ctype is C\)/)
  expect(await refusal(await make(`${libc} locale 'C' encoding 'SQL_ASCII'`))).toContain('the encoding SQL_ASCII')
  await checkDatabase(await make(`${libc} locale 'C.UTF-8'`), 'assumed')
})

test('an unknown database or user is a configuration error; an unreachable server is not', async (context) => {
  const connection = await emptyDatabase(context)
  expect(await refusal({ ...connection, database: 'nowhere' })).toContain('database "nowhere" does not exist')
  expect(await refusal({ ...connection, user: 'nobody_at_all' })).toContain('rejected the user')
  const error = await checkDatabase({ ...connection, port: 1 }, 'assumed').catch((thrown: unknown) => thrown)
  expect(isConnectionLoss(error)).toBe(true)
})
