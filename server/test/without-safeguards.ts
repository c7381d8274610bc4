import pg from 'pg'

/** Lets every advisory lock that is tried succeed at once in new sessions, as if it did not exist. */
export async function disableAdvisoryLocks(connection: pg.ClientConfig): Promise<void> {
  await execute(
    connection,
    `create function public.pg_try_advisory_xact_lock(bigint) returns boolean language sql return true;
     alter database ${connection.database} set search_path = public, pg_catalog`,
  )
}

async function execute(connection: pg.ClientConfig, statements: string): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query(statements)
  } finally {
    await client.end()
  }
}
