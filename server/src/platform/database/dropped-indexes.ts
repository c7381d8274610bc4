import type pg from 'pg'

/** Indexes and constraints that were dropped, in the order in which they are recreated. */
export type DroppedIndexes = readonly { name: string; statement: string }[]

/** In the order of their dependencies. */
const creationOrder = ['key', 'index', 'reference'] as const

interface DroppedObject {
  kind: (typeof creationOrder)[number]
  of: string
  name: string
  definition: string
}

/**
 * Drops the indexes and foreign keys of these tables, and on request their keys, to recreate them after a load with
 * `recreateIndexes` in the same transaction. Leaves objects whose definition does not show all properties, and what a
 * remaining key needs.
 */
export async function dropIndexes(
  client: pg.Client,
  tables: readonly string[],
  { keys = false }: { keys?: boolean } = {},
): Promise<DroppedIndexes> {
  const { rows } = await client.query<DroppedObject>(definitionsQuery, [tables, keys])
  const objects = creationOrder.flatMap((kind) => rows.filter((part) => part.kind === kind))
  for (const { kind, of, name } of objects.toReversed()) {
    await client.query(kind === 'index' ? `drop index ${name}` : `alter table ${of} drop constraint ${name}`)
  }
  return objects.map(({ kind, of, name, definition }) => ({
    name,
    statement: kind === 'index' ? definition : `alter table ${of} add constraint ${name} ${definition}`,
  }))
}

/** Recreates what was dropped. `onNext` reports how many are done and which is next. */
export async function recreateIndexes(
  client: pg.Client,
  dropped: DroppedIndexes,
  onNext: (done: number, name: string) => void,
): Promise<void> {
  for (const [done, { name, statement }] of dropped.entries()) {
    onNext(done, name)
    await client.query(statement)
  }
}

const definitionsQuery = `
  select case contype when 'f' then 'reference' else 'key' end as kind, conrelid::regclass::text as of,
    quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
  from pg_constraint
  where contype = any(case when $2 then '{f,p,u,x}' else '{f}' end::"char"[])
    and conrelid = any($1::text[]::regclass[]) and obj_description(oid, 'pg_constraint') is null
  union all
  select 'index', indrelid::regclass::text, format('%I.%I', space.nspname, class.relname), pg_get_indexdef(class.oid)
  from pg_index index join pg_class class on class.oid = indexrelid join pg_namespace space on space.oid = relnamespace
  where indrelid = any($1::text[]::regclass[])
    and indisvalid and not indisclustered and not indisreplident and reltablespace = 0
    and obj_description(class.oid, 'pg_class') is null
    and not exists (select from pg_constraint where conindid = class.oid and (contype <> 'f' or not $2))
    and not exists (select from pg_attribute where attrelid = class.oid and coalesce(attstattarget, -1) >= 0)
  order by 2, 3`
