import type pg from 'pg'
import type { ActualDocument } from './document.ts'
import type { Column, ForeignKey, Index } from './tables.ts'

export interface ActualTable {
  columns: ReadonlyMap<string, Pick<Column, 'type' | 'required'>>
  foreignKeys: readonly Pick<ForeignKey, 'column' | 'table'>[]
  indexes: readonly Pick<Index, 'name' | 'method' | 'keys' | 'unique' | 'where'>[]
  /** The check conditions, as PostgreSQL prints them. */
  checks: readonly string[]
  /** The columns that the search column reads. */
  searched: readonly string[]
}

/** The tables and document functions of a database, by name, and the words that must be quoted as names. */
export interface Catalog {
  tables: ReadonlyMap<string, ActualTable>
  documents: ReadonlyMap<string, ActualDocument>
  keywords: ReadonlySet<string>
}

const columns = `
  select relname as table, attname as name, format_type(atttypid, atttypmod) as type, attnotnull as required
  from pg_attribute join pg_class on pg_class.oid = attrelid
  where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
  order by attnum`

const foreignKeys = `
  select own.relname as table, attname as column, other.relname as target
  from pg_constraint
  join pg_class own on own.oid = conrelid
  join pg_class other on other.oid = confrelid
  join pg_attribute on attrelid = conrelid and attnum = conkey[2]
  where contype = 'f' and own.relnamespace = current_schema()::regnamespace`

const checks = `
  select relname as table, pg_get_constraintdef(pg_constraint.oid, true) as definition
  from pg_constraint join pg_class on pg_class.oid = conrelid
  where contype = 'c' and relnamespace = current_schema()::regnamespace`

const indexes = `
  select own.relname as table, index.relname as name, amname as method, indisunique as unique,
    pg_get_expr(indpred, indrelid) as where,
    (select array_agg(pg_get_indexdef(indexrelid, place, true) order by place) from generate_series(1, indnkeyatts) place)
      as keys
  from pg_index
  join pg_class own on own.oid = indrelid
  join pg_class index on index.oid = indexrelid
  join pg_am on pg_am.oid = index.relam
  where indisvalid and own.relnamespace = current_schema()::regnamespace`

const searched = `
  select relname as table, read.attname as name
  from pg_attrdef
  join pg_class on pg_class.oid = adrelid
  join pg_attribute search on search.attrelid = adrelid and search.attnum = adnum and search.attname = 'search'
  join pg_depend on classid = 'pg_attrdef'::regclass and objid = pg_attrdef.oid and refobjid = adrelid
  join pg_attribute read on read.attrelid = adrelid and read.attnum = refobjsubid and read.attname <> 'search'`

/** The functions that render a record by its row; those without a comment render the first version. */
const documents = `
  select proname as name, prosrc as body,
    coalesce(substring(obj_description(pg_proc.oid, 'pg_proc') from 'version (\\d+)')::int, 1) as version
  from pg_proc join pg_type on pg_type.oid = proargtypes[0]
  where pronamespace = current_schema()::regnamespace and proname ~ '_document$' and pronargs = 1 and typtype = 'c'`

export async function readCatalog(client: pg.Client): Promise<Catalog> {
  const read = async <Row extends { table: string }>(text: string) => {
    const { rows } = await client.query<Row>(text)
    return (table: string) => rows.filter((row) => row.table === table)
  }
  const columnsOf = await read<Column & { table: string }>(columns)
  const foreignKeysOf = await read<{ table: string; column: string; target: string }>(foreignKeys)
  const indexesOf = await read<Index & { table: string }>(indexes)
  const checksOf = await read<{ table: string; definition: string }>(checks)
  const searchedOf = await read<{ table: string; name: string }>(searched)
  const { rows: documentRows } = await client.query<ActualDocument & { name: string }>(documents)
  const { rows: names } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')`,
  )
  const { rows: words } = await client.query<{ word: string }>(
    `select word from pg_get_keywords() where catcode <> 'U'`,
  )
  const tables = names.map(({ name }): [string, ActualTable] => [
    name,
    {
      columns: new Map(columnsOf(name).map((column) => [column.name, column])),
      foreignKeys: foreignKeysOf(name).map(({ column, target }) => ({ column, table: target })),
      indexes: indexesOf(name).map((index) => ({ ...index, keys: index.keys.map(unquoted) })),
      checks: checksOf(name).map(({ definition }) => unquoted(definition)),
      searched: searchedOf(name).map((column) => column.name),
    },
  ])
  return {
    tables: new Map(tables),
    documents: new Map(documentRows.map(({ name, ...document }) => [name, document])),
    keywords: new Set(words.map(({ word }) => word)),
  }
}

const unquoted = (key: string): string => key.replaceAll('"', '')
