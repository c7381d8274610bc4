import type pg from 'pg'
import type { Migration } from '../../database/migrate.ts'
import { SnapshotError, type SnapshotTable } from './format.ts'

export interface CatalogTable extends SnapshotTable {
  /** Row count according to the statistics. */
  estimate: number
  /** What a crash of the database may lose: the rows are not part of a backup. */
  isUnlogged: boolean
}

export interface Catalog {
  /** Every table follows the tables that it references. */
  tables: CatalogTable[]
  /** Tables in the schema that no migration created. */
  otherTables: string[]
}

export const quoteIdentifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The names of the objects that the migrations create. Anything else in the schema does not belong to Rapport. */
export function namesCreatedBy(migrations: readonly Migration[]): Set<string> {
  const createStatement =
    /\bcreate\s+(?:or\s+replace\s+)?(?:unlogged\s+|materialized\s+)?(?:table|view|sequence|function|procedure|type|domain)\s+(?:if\s+not\s+exists\s+)?"?(\w+)"?|\brename\s+to\s+"?(\w+)"?/gi
  const names = migrations.flatMap(({ text }) =>
    [...text.matchAll(createStatement)].map(([, created, renamed]) => created ?? renamed),
  )
  return new Set(['schema_migrations', ...names.filter((name) => name !== undefined)])
}

/** Rapport's current tables. Throws `SnapshotError` if one has a sequence, which no migration creates. */
export async function readCatalog(client: pg.Client, createdNames: ReadonlySet<string>): Promise<Catalog> {
  const { rows } = await client.query<{
    name: string
    kind: string
    owner: string | null
    columns: string[]
    needs: string[]
    estimate: number
    isUnlogged: boolean
  }>(
    `select class.relname::text as name, class.relpersistence = 'u' as "isUnlogged", class.relkind::text as kind, greatest(class.reltuples, 0)::float8 as estimate,
       (select owner.relname::text from pg_depend join pg_class owner on owner.oid = refobjid
         where class.relkind = 'S' and classid = 'pg_class'::regclass and objid = class.oid and deptype in ('a', 'i')) as owner,
       array(select attname::text from pg_attribute
         where attrelid = class.oid and attnum > 0 and not attisdropped and attgenerated = '' order by attnum) as columns,
       array(select distinct other.relname::text from pg_constraint join pg_class other on other.oid = confrelid
         where conrelid = class.oid and contype = 'f') as needs
     from pg_class class join pg_namespace space on space.oid = class.relnamespace
     where space.nspname = current_schema() and class.relkind in ('r', 'S') and ${notFromExtension('class')}
     order by 1`,
  )
  const tables = rows.filter(({ kind }) => kind === 'r')
  const ours = tables.filter(({ name }) => createdNames.has(name))
  const sequences = rows.filter(
    ({ kind, name, owner }) => kind === 'S' && (createdNames.has(name) || createdNames.has(owner ?? '')),
  )
  if (sequences.length > 0) {
    const names = sequences.map(({ name }) => name).join(', ')
    throw new SnapshotError(
      `A table of Rapport has a sequence that Rapport did not create, which a backup cannot contain: ${names}. Nothing was changed. Remove it first.`,
    )
  }
  return {
    tables: sortByDependency(ours).map(({ name, columns, estimate, isUnlogged }) => ({
      ...{ name, columns, isUnlogged },
      estimate: isUnlogged ? 0 : estimate,
    })),
    otherTables: tables.filter(({ name }) => !createdNames.has(name)).map(({ name }) => name),
  }
}

/** SQL condition: the object does not belong to an extension. */
export const notFromExtension = (of: 'class' | 'routine' | 'type'): string => {
  const catalog = { class: 'pg_class', routine: 'pg_proc', type: 'pg_type' }[of]
  return `not exists (select from pg_depend where classid = '${catalog}'::regclass and objid = ${of}.oid and deptype = 'e')`
}

/** Puts every table after those it needs. Cycles keep their order, because references are checked after the load. */
function sortByDependency<Table extends { name: string; needs: string[] }>(tables: readonly Table[]): Table[] {
  const remaining = new Map(tables.map((table) => [table.name, table]))
  const ordered: Table[] = []
  const visit = (table: Table): void => {
    if (!remaining.delete(table.name)) return
    for (const need of table.needs) {
      const other = remaining.get(need)
      if (other) visit(other)
    }
    ordered.push(table)
  }
  for (const table of tables) visit(table)
  return ordered
}
