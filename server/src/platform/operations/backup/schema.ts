import type pg from 'pg'
import { sqlState } from '../../database/failures.ts'
import { createMigrationsTable, type Migration, noTransactionMarker } from '../../database/migrate.ts'
import { notFromExtension } from './catalog.ts'
import { SnapshotError } from './format.ts'

/** Drops what the migrations created; other objects in the schema stay. */
export async function dropSchema(client: pg.Client, ownNames: ReadonlySet<string>): Promise<void> {
  const { rows } = await client.query<{ kind: string; name: string; identity: string }>(
    `select case relkind when 'v' then 'view' when 'm' then 'materialized view' else 'table' end as kind,
       relname::text as name, class.oid::regclass::text as identity
     from pg_class class join pg_namespace space on space.oid = class.relnamespace
     where nspname = current_schema() and relkind in ('r', 'p', 'v', 'm') and not relispartition and ${notFromExtension('class')}
     union all
     select case when exists (select from pg_type where pg_type.oid = any (routine.proargtypes) and typrelid <> 0)
         then 'routine of rows' else 'routine' end, proname::text, routine.oid::regprocedure::text
     from pg_proc routine join pg_namespace space on space.oid = routine.pronamespace
     where nspname = current_schema() and ${notFromExtension('routine')}
     union all
     select 'type', typname::text, type.oid::regtype::text
     from pg_type type join pg_namespace space on space.oid = type.typnamespace
     where nspname = current_schema() and typtype in ('e', 'd') and ${notFromExtension('type')}`,
  )
  const ours = rows.filter(({ name }) => ownNames.has(name))
  try {
    // All objects of a kind are dropped at once, because they may depend on each other. A routine that takes a table's
    // rows depends on the table; a generated column or an index depends on a routine.
    for (const kind of ['materialized view', 'view', 'routine of rows', 'table', 'routine', 'type']) {
      const list = ours.filter((one) => one.kind === kind).map(({ identity }) => identity)
      if (list.length > 0) await client.query(`drop ${kind.replace(' of rows', '')} if exists ${list.join(', ')}`)
    }
  } catch (error) {
    const state = sqlState(error)
    const { message, detail = '' } = error as pg.DatabaseError
    if (state === '2BP01') {
      throw new SnapshotError(
        `The tables cannot be replaced because something that does not belong to Rapport depends on them. Nothing was changed. Remove it first.\n${message}\n${detail}`,
        { cause: error },
      )
    }
    if (state === '55P03') {
      throw new SnapshotError('The tables of the database are in use. Nothing was changed. Try again.', {
        cause: error,
      })
    }
    throw error
  }
}

/** Applies these migrations to an empty schema, in the current transaction. */
export async function createSchema(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  await client.query(createMigrationsTable)
  for (const { text } of migrations) {
    // Nothing needs to be built concurrently on empty tables that no one else sees.
    const isNonTransactional = text.split('\n', 1)[0]?.trim() === noTransactionMarker
    await client.query(isNonTransactional ? text.replaceAll(/\bconcurrently\b/gi, '') : text)
  }
}
