import pg from 'pg'

/** Drops the triggers of contacts and companies, on which nothing may depend. */
export async function dropRecordTriggers(connection: pg.ClientConfig): Promise<void> {
  await execute(
    connection,
    `drop trigger contacts_root_changed on contacts;
     drop trigger contacts_root_deleted on contacts;
     drop trigger contacts_rendering on contacts;
     drop trigger companies_rendering on companies`,
  )
}

/** Drops the triggers that count import rows. */
export async function dropCountTriggers(connection: pg.ClientConfig): Promise<void> {
  const kinds = ['inserted', 'updated', 'deleted']
  await execute(connection, kinds.map((kind) => `drop trigger if exists import_rows_${kind} on import_rows`).join(';'))
}

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
