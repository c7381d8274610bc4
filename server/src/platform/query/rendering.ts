import { columnOf, type Resource } from '../model/define.ts'
import { identifier, raw, type Sql, sql } from '../model/sql.ts'
import { root } from './target.ts'

/** Where a statement finds a record that has a stored rendering. */
export type RecordSource =
  /** The table's own row. */
  | 'table'
  /** Its ids and `rowVersion`, read from the table earlier in the same statement. */
  | 'carried'
  /** What `writtenSql` returned. */
  | 'written'

const rendering = raw('rendering')

const tableOf = ({ singular }: Resource): Sql => identifier(`${singular}_renderings`)
const ownerOf = ({ singular }: Resource): Sql => identifier(columnOf(`${singular}Id`))
/** By the row, or by its key. */
const documentOf = ({ singular }: Resource, record: Sql): Sql => sql`${identifier(`${singular}_document`)}(${record})`

/** What tells a version of a row from every other one, even from one that the same transaction wrote. */
export const rowVersion = sql`${raw(root)}.xmin as source_xmin, ${raw(root)}.ctid as source_ctid`

export const versionColumns = ['source_xmin', 'source_ctid']

/** The join that `renderedSql` needs, unless the record is a written one: each record looks up its own rendering. */
export const renderingJoin = (resource: Resource, organization: Sql): Sql =>
  resource.renderingVersion === undefined
    ? raw('')
    : sql` left join lateral (
      select version, source_xmin, source_ctid, document from ${tableOf(resource)}
      where organization_id = ${organization} and ${ownerOf(resource)} = ${raw(root)}.id offset 0
    ) ${rendering} on true`

/** The record's rendering: the stored one where it is valid, else made now. */
export function renderedSql(resource: Resource, source: RecordSource): Sql {
  const record = raw(root)
  if (source === 'written') return sql`${record}.document`
  const isTable = source === 'table'
  const [xmin, ctid] = isTable ? [raw('xmin'), raw('ctid')] : [raw('source_xmin'), raw('source_ctid')]
  const isValid = sql`${rendering}.version = ${raw(String(resource.renderingVersion))}
    and ${rendering}.source_xmin = ${record}.${xmin} and ${rendering}.source_ctid = ${record}.${ctid}`
  const made = isTable
    ? documentOf(resource, record)
    : documentOf(resource, sql`${record}.organization_id, ${record}.id`)
  return sql`case when ${isValid} then ${rendering}.document else ${made} end`
}

/**
 * Common tables of a statement that writes records and their renderings: `written` has the records as they are then. `change`
 * is an insert or update of the table under the alias `record`; `isNew` when it cannot meet a record that was there.
 */
export function writtenSql(resource: Resource, change: Sql, { isNew = false } = {}): Sql {
  const rendered = resource.viewOf ?? resource
  if (rendered.renderingVersion === undefined) return sql`written as (${change} returning ${raw(root)}.*)`
  return sql`
    written as (${change} returning ${raw(root)}.*, ${rowVersion}, ${documentOf(rendered, raw(root))} as document),
    rendered as (${isNew ? insertSql(rendered, writtenRows) : storeSql(rendered, writtenRows)})`
}

/**
 * Common tables that render those records of `walked` (ids and `rowVersion`) whose rendering is missing, old or of another
 * version of the row; `stored` has a row for each. A rendering by a newer declaration is left to the process that made it.
 */
export const staleSql = (resource: Resource): Sql => sql`
    stale as materialized (
      select organization_id, id from walked where not exists (
        select from ${tableOf(resource)} known
        where known.organization_id = walked.organization_id and known.${ownerOf(resource)} = walked.id
          and known.version >= ${raw(String(resource.renderingVersion))}
          and known.source_xmin = walked.source_xmin and known.source_ctid = walked.source_ctid)),
    stored as (${storeSql(
      resource,
      sql`select organization_id, id, ${rowVersion}, ${documentOf(resource, raw(root))} as document
        from stale join ${identifier(resource.table)} ${raw(root)} using (organization_id, id)`,
    )} returning true)`

const writtenRows = sql`select organization_id, id, source_xmin, source_ctid, document from written`

const insertSql = (resource: Resource, rows: Sql): Sql => sql`
  insert into ${tableOf(resource)} (organization_id, ${ownerOf(resource)}, version, source_xmin, source_ctid, document)
  select organization_id, id, ${raw(String(resource.renderingVersion))}, source_xmin, source_ctid, document
  from (${rows}) source order by organization_id, id`

/** Stores renderings; `rows` has the columns of the table but its version. In the order of ids, so that two never deadlock. */
const storeSql = (resource: Resource, rows: Sql): Sql => sql`${insertSql(resource, rows)}
  on conflict (organization_id, ${ownerOf(resource)}) do update set version = excluded.version,
    source_xmin = excluded.source_xmin, source_ctid = excluded.source_ctid, document = excluded.document`
