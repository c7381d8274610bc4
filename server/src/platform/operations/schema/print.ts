import type pg from 'pg'

/** The schema as one SQL file: each table with its constraints and indexes, in the order in which they were created. */
export async function printSchema(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ text: string }>(`${extensionsQuery} union all ${objectsQuery}`)
  return `${rows.map(({ text }) => text).join('\n\n')}\n`
}

const extensionsQuery = `
  select format('create extension if not exists %I;', extname) as text from pg_extension where extname <> 'plpgsql'`

const notFromExtension = (catalog: string): string =>
  `not exists (select from pg_depend where classid = '${catalog}'::regclass and objid = part.oid and deptype = 'e')`

const columnsOfTable = `
  select string_agg(concat_ws(' ', '  ' || quote_ident(attname),
    replace(format_type(atttypid, atttypmod), 'timestamp(3) with time zone', 'timestamptz(3)'),
    case when attcollation <> typcollation then format('collate %I', collname) end,
    case when attnotnull then 'not null' end,
    case when attgenerated = 's' then format('generated always as (%s) stored', pg_get_expr(adbin, adrelid, true))
      else 'default ' || pg_get_expr(adbin, adrelid, true) end), E',\\n' order by attnum)
  from pg_attribute join pg_type on pg_type.oid = atttypid
  left join pg_attrdef on adrelid = attrelid and adnum = attnum
  left join pg_collation on pg_collation.oid = attcollation
  where attrelid = part.oid and attnum > 0 and not attisdropped`

/** Keys first. A foreign key to a table that is created later follows it. */
const constraintsOfTable = `
  select string_agg(format(E',\\n  constraint %I %s', conname, pg_get_constraintdef(oid, true)), ''
    order by array_position('{p,u,c,f}', contype), conname)
  from pg_constraint where conrelid = part.oid and contype in ('p', 'u', 'c', 'f') and confrelid <= part.oid`

const keysToLaterTables = `
  select string_agg(format(E'\\nalter table %s add constraint %I %s;', conrelid::regclass, conname,
    pg_get_constraintdef(oid, true)), '' order by conname)
  from pg_constraint where confrelid = part.oid and conrelid < part.oid`

const statisticsOfTable = `
  select string_agg(format(E'\\nalter table %s alter column %I set statistics %s;', part.oid::regclass, attname,
    attstattarget), '' order by attnum)
  from pg_attribute where attrelid = part.oid and attnum > 0 and attstattarget >= 0`

/** An index can use a function that is created after its table. */
function usesLaterFunction(index: string): string {
  return `exists (select from pg_depend where classid = 'pg_class'::regclass and objid = ${index}.indexrelid
    and refclassid = 'pg_proc'::regclass and refobjid > ${index}.indrelid)`
}

const indexesOfTable = `
  select string_agg(E'\\n' || pg_get_indexdef(indexrelid, 0, true) || ';', '' order by indexrelid)
  from pg_index where indrelid = part.oid and not exists (select from pg_constraint where conindid = indexrelid and contype <> 'f')
    and not ${usesLaterFunction('pg_index')}`

const objectsQuery = `
  (select text from (
    select part.oid, format(E'create %stable %s (\\n%s%s\\n)%s;', case when relpersistence = 'u' then 'unlogged ' end,
      part.oid::regclass, (${columnsOfTable}), (${constraintsOfTable}),
      ' with (' || array_to_string(reloptions, ', ') || ')')
      || concat((${statisticsOfTable}), (${indexesOfTable}), (${keysToLaterTables})) as text
    from pg_class part where relnamespace = current_schema()::regnamespace and relkind = 'r' and ${notFromExtension('pg_class')}
    union all
    select indexrelid, pg_get_indexdef(indexrelid, 0, true) || ';' from pg_index
    join pg_class part on part.oid = indrelid
    where relnamespace = current_schema()::regnamespace and ${usesLaterFunction('pg_index')}
    union all
    select part.oid, format(E'create view %s as\\n%s', part.oid::regclass, pg_get_viewdef(part.oid, true))
    from pg_class part where relnamespace = current_schema()::regnamespace and relkind = 'v' and ${notFromExtension('pg_class')}
    union all
    select part.oid, regexp_replace(rtrim(pg_get_functiondef(part.oid), E'\\n'),
        '^CREATE OR REPLACE FUNCTION [^.(]+\\.', 'create function ') || ';'
      || coalesce(E'\\ncomment on function ' || part.oid::regprocedure || ' is '
        || quote_literal(obj_description(part.oid, 'pg_proc')) || ';', '')
      || case when exists (select from aclexplode(proacl) where grantee = 0) or proacl is null then ''
        else format(E'\\nrevoke execute on function %s from public;', part.oid::regprocedure) end
    from pg_proc part where pronamespace = current_schema()::regnamespace and ${notFromExtension('pg_proc')}
    union all
    select pg_trigger.oid, pg_get_triggerdef(pg_trigger.oid, true) || ';'
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = current_schema()::regnamespace and not tgisinternal) printed
  order by oid)`
