import pg from 'pg'
import { expect, test } from 'vitest'
import { schemaOf } from '../../../../test/backups.ts'
import { isDistributed } from '../../../../test/engines.ts'
import { createDatabase, createEmptyDatabase } from '../../../../test/postgres.ts'
import { printSchema } from './print.ts'

const inDatabase = async <Result>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<Result>) => {
  const client = new pg.Client(connection)
  await client.connect()
  return work(client).finally(() => client.end())
}

// On Citus, the printed schema is that of a database that is not distributed yet.
test.skipIf(isDistributed())('the printed schema creates the same schema in an empty database', async () => {
  const [migrated, copy] = await Promise.all([createDatabase(), createEmptyDatabase()])
  try {
    const printed = await inDatabase(migrated.connection, printSchema)
    expect(printed).toMatch(/^create table contacts \($/m)
    await inDatabase(copy.connection, (client) => client.query(printed))
    expect(await schemaOf(copy.connection)).toEqual(await schemaOf(migrated.connection))
    expect(await inDatabase(copy.connection, printSchema)).toBe(printed)
  } finally {
    await Promise.all([migrated.drop(), copy.drop()])
  }
})
