import type pg from 'pg'
import { sqlState } from '../failures.ts'
import { createRecord, type Migration, noTransactionMark } from '../migrate.ts'
import { notOfExtensions, quoted } from './catalog.ts'
import { SnapshotError } from './format.ts'

/** Removes what the migrations made; what somebody else put into the schema stays. */
export async function dropSchema(client: pg.Client, made: ReadonlySet<string>): Promise<void> {
  const { rows } = await client.query<{ kind: string; name: string; identity: string }>(
    `select case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' else 'table' end as kind,
       relname::text as name, class.oid::regclass::text as identity
     from pg_class class join pg_namespace space on space.oid = class.relnamespace
     where nspname = current_schema() and relkind in ('r', 'p', 'v', 'm', 'S') and not relispartition and ${notOfExtensions('class')}
     union all
     select 'routine', proname::text, routine.oid::regprocedure::text
     from pg_proc routine join pg_namespace space on space.oid = routine.pronamespace
     where nspname = current_schema() and ${notOfExtensions('routine')}
     union all
     select 'type', typname::text, type.oid::regtype::text
     from pg_type type join pg_namespace space on space.oid = type.typnamespace
     where nspname = current_schema() and typtype in ('e', 'd') and ${notOfExtensions('type')}`,
  )
  const ours = rows.filter(({ name }) => made.has(name))
  try {
    // All of a kind at once: they depend on each other.
    for (const kind of ['materialized view', 'view', 'table', 'sequence', 'routine', 'type']) {
      const list = ours.filter((one) => one.kind === kind).map(({ identity }) => identity)
      if (list.length > 0) await client.query(`drop ${kind} if exists ${list.join(', ')}`)
    }
  } catch (error) {
    const state = sqlState(error)
    const { message, detail = '' } = error as pg.DatabaseError
    if (state === '2BP01') {
      throw new SnapshotError(
        `Something that is not Rapport's builds on its tables, so they cannot be replaced. Nothing was changed. Remove it first.\n${message}\n${detail}`,
        { cause: error },
      )
    }
    if (state === '55P03') {
      throw new SnapshotError('Somebody uses the tables of the database. Nothing was changed. Try again.', {
        cause: error,
      })
    }
    throw error
  }
}

/** Makes the schema of these migrations where nothing is, as a part of the running transaction. */
export async function makeSchema(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  await client.query(createRecord)
  for (const { text } of migrations) {
    // On tables without rows, that nobody else sees, nothing has to be done concurrently.
    const isApart = text.split('\n', 1)[0]?.trim() === noTransactionMark
    await client.query(isApart ? text.replaceAll(/\bconcurrently\b/gi, '') : text)
  }
}

/** Statements that make again what was taken away for the load, in their order. */
export type LaidAside = { what: string; statement: string }[]

/**
 * Takes away constraints and indexes, which are built faster over all rows at once, and stops our own triggers: what they
 * would do is in the rows already. The owner of the tables may do all of it.
 */
export async function layAside(client: pg.Client, tables: readonly string[]): Promise<LaidAside> {
  const { rows } = await client.query<{ kind: string; of: string; name: string; definition: string }>(
    `select contype::text as kind, class.relname::text as of, conname::text as name, pg_get_constraintdef(con.oid) as definition
     from pg_constraint con join pg_class class on class.oid = con.conrelid
     where class.oid = any(${ourClasses}) and contype in ('f', 'p', 'u', 'x')
     union all
     select 'i', class.relname::text, item.relname::text, pg_get_indexdef(item.oid)
     from pg_index join pg_class class on class.oid = indrelid join pg_class item on item.oid = indexrelid
     where class.oid = any(${ourClasses}) and not exists (select from pg_constraint where conindid = item.oid and contype in ('p', 'u', 'x'))
     order by 2, 3`,
    [tables],
  )
  const of = (...kinds: string[]) => rows.filter(({ kind }) => kinds.includes(kind))
  // References first: they lean on the others.
  for (const { of: table, name } of [...of('f'), ...of('p', 'u', 'x')]) {
    await client.query(`alter table ${quoted(table)} drop constraint ${quoted(name)}`)
  }
  for (const { name } of of('i')) await client.query(`drop index ${quoted(name)}`)
  for (const table of tables) await client.query(`alter table ${quoted(table)} disable trigger user`)
  return [
    ...of('p', 'u', 'x').map(again),
    ...of('i').map(({ name, definition }) => ({ what: name, statement: definition })),
    ...of('f').map(again),
    ...tables.map((table) => ({ what: table, statement: `alter table ${quoted(table)} enable trigger user` })),
  ]
}

const ourClasses = `array(select our.oid from pg_class our join pg_namespace space on space.oid = our.relnamespace
  where space.nspname = current_schema() and our.relname = any($1))`

const again = ({ of: table, name, definition }: { of: string; name: string; definition: string }) => ({
  what: name,
  statement: `alter table ${quoted(table)} add constraint ${quoted(name)} ${definition}`,
})
