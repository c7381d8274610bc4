import type pg from 'pg'

/** Indexes and foreign keys as they are made again. */
export interface SetAside {
  indexes: readonly { name: string; definition: string }[]
  references: readonly { table: string; name: string; definition: string }[]
}

/**
 * Drops the indexes and foreign keys of these tables until `restore` makes them again: both within one transaction, so
 * that nobody ever sees the tables without them. Those indexes stay that a constraint needs, and what carries more than
 * its definition says.
 */
export async function setAside(client: pg.Client, tables: readonly string[]): Promise<SetAside> {
  const { rows: indexes } = await client.query<SetAside['indexes'][number]>(
    `select format('%I.%I', namespace.nspname, class.relname) as name, pg_get_indexdef(class.oid) as definition
      from pg_index index
      join pg_class class on class.oid = index.indexrelid
      join pg_namespace namespace on namespace.oid = class.relnamespace
      where index.indrelid = any($1::text[]::regclass[])
        and index.indisvalid and not index.indisclustered and not index.indisreplident and class.reltablespace = 0
        and obj_description(class.oid, 'pg_class') is null
        and not exists (select from pg_constraint where conindid = class.oid)
        and not exists (select from pg_attribute where attrelid = class.oid and coalesce(attstattarget, -1) >= 0)
      order by index.indrelid, class.oid`,
    [tables],
  )
  const { rows: references } = await client.query<SetAside['references'][number]>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
      from pg_constraint
      where contype = 'f' and convalidated and conrelid = any($1::text[]::regclass[])
        and obj_description(oid, 'pg_constraint') is null
      order by conrelid, oid`,
    [tables],
  )
  for (const { table, name } of references) await client.query(`alter table ${table} drop constraint ${name}`)
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  return { indexes, references }
}

/** Makes what was set aside again; `made` is told how many there are by now. */
export async function restore(
  client: pg.Client,
  { indexes, references }: SetAside,
  made: (count: number) => void,
): Promise<void> {
  const statements = [
    ...indexes.map(({ definition }) => definition),
    ...references.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`),
  ]
  for (const [place, statement] of statements.entries()) {
    made(place)
    await client.query(statement)
  }
}
