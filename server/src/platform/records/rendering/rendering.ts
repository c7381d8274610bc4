import { columnOf, type Resource } from '../declare/define.ts'
import type { Field } from '../declare/field.ts'
import { renderingsTable } from '../declare/tables.ts'
import { identifier, raw, type Sql, sql } from '../../model/sql.ts'
import { root } from '../filter/target.ts'

/** Where a statement finds a record with a stored rendering. */
export type RecordSource =
  /** The table's row. */
  | 'table'
  /** Ids and `rowVersion`, read from the table earlier in the same statement. */
  | 'carried'
  /** The rows of `writtenSql`. */
  | 'written'

const rendering = raw('rendering')

const tableOf = (resource: Resource): Sql => identifier(renderingsTable(resource))
const ownerOf = ({ singular }: Resource): Sql => identifier(columnOf(`${singular}Id`))
const functionOf = ({ singular }: Resource): Sql => identifier(`${singular}_document`)

/** `byColumn` also works where the rows of a part of the table have another type than the table. */
const documentOf = (resource: Resource, byColumn: boolean): Sql =>
  byColumn
    ? sql`${functionOf(resource)}(row(${raw(root)}.*)::${identifier(resource.table)})`
    : sql`${functionOf(resource)}(${raw(root)})`

const documentByKey = (resource: Resource, organization: Sql | undefined): Sql =>
  organization
    ? sql`(select ${functionOf(resource)}(row(whole.*)::${identifier(resource.table)}) from ${identifier(resource.table)} whole
        where whole.organization_id = ${organization} and whole.id = ${raw(root)}.id)`
    : sql`${functionOf(resource)}(${raw(root)}.organization_id, ${raw(root)}.id)`

/** The SQL of a value that a document function computes, which must depend on its `record` alone. */
export const computedText = ({ computed }: Field): string | undefined =>
  computed?.(raw(root), raw(`${root}.organization_id`)).render().text

/** Identifies a version of a row, even among versions written in the same transaction. */
export const rowVersion = sql`${raw(root)}.xmin as source_xmin, ${raw(root)}.ctid as source_ctid`

export const versionColumns = ['source_xmin', 'source_ctid']

/** The join for `renderedSql`, except for written records: each record looks up its own rendering. */
export const renderingJoin = (resource: Resource, organization: Sql): Sql =>
  resource.renderingVersion === undefined
    ? raw('')
    : sql` left join lateral (
      select version, source_xmin, source_ctid, document from ${tableOf(resource)}
      where organization_id = ${organization} and ${ownerOf(resource)} = ${raw(root)}.id offset 0
    ) ${rendering} on true`

/** The stored rendering if it is valid, otherwise a new one. */
export function renderedSql(resource: Resource, source: RecordSource, organization?: Sql): Sql {
  const record = raw(root)
  if (source === 'written') return sql`${record}.document`
  const isTable = source === 'table'
  const [xmin, ctid] = isTable ? [raw('xmin'), raw('ctid')] : [raw('source_xmin'), raw('source_ctid')]
  const isValid = sql`${rendering}.version = ${raw(String(resource.renderingVersion))}
    and ${rendering}.source_xmin = ${record}.${xmin} and ${rendering}.source_ctid = ${record}.${ctid}`
  const current = isTable ? documentOf(resource, organization !== undefined) : documentByKey(resource, organization)
  return sql`case when ${isValid} then ${rendering}.document else ${current} end`
}

/** The rendering of a record that has just been written. */
export const newRendering = (resource: Resource, source: 'written' | 'table'): Sql =>
  source === 'written' ? renderedSql(resource, source) : documentOf(resource, true)

/** `written` has the new records. `change`: an insert or update of `record`. `isNew`: none can exist already. */
export function writtenSql(resource: Resource, change: Sql, { isNew = false } = {}): Sql {
  const rendered = resource.viewOf ?? resource
  if (rendered.renderingVersion === undefined) return sql`written as (${change} returning ${raw(root)}.*)`
  return sql`
    written as (${change} returning ${raw(root)}.*, ${rowVersion}, ${documentOf(rendered, false)} as document),
    rendered as (${isNew ? insertSql(rendered, writtenRows) : storeSql(rendered, writtenRows)})`
}

/**
 * Renders the organization's records in `scanned` (ids and `rowVersion`) without a valid rendering; `stored` has a row for each.
 * Renderings by a newer declaration are left to the process that made them.
 */
export const staleSql = (resource: Resource, organization: Sql): Sql => sql`
    stale as materialized (
      select organization_id, id from scanned where not exists (
        select from ${tableOf(resource)} known
        where known.organization_id = ${organization} and known.${ownerOf(resource)} = scanned.id
          and known.version >= ${raw(String(resource.renderingVersion))}
          and known.source_xmin = scanned.source_xmin and known.source_ctid = scanned.source_ctid)),
    stored as (${storeSql(
      resource,
      sql`select organization_id, id, ${rowVersion}, ${documentOf(resource, true)} as document
        from stale join ${identifier(resource.table)} ${raw(root)} using (organization_id, id)
        where organization_id = ${organization}`,
    )} returning true)`

/** Renders these records of the organization (a query of ids) where a valid rendering is missing, as a statement. */
export function renderSql(resource: Resource, organization: Sql, ids: Sql): Sql | undefined {
  const rendered = resource.viewOf ?? resource
  if (rendered.renderingVersion === undefined) return undefined
  return sql`${storeSql(
    rendered,
    // Not the column: the planner may have to know that all rows are of one organization.
    sql`select ${organization} as organization_id, id, ${rowVersion}, ${documentOf(rendered, true)} as document
      from ${identifier(rendered.table)} ${raw(root)}
      where organization_id = ${organization} and id = any(array(${ids})) and not exists (
        select from ${tableOf(rendered)} known
        where known.organization_id = ${organization} and known.${ownerOf(rendered)} = ${raw(root)}.id
          and known.version = ${raw(String(rendered.renderingVersion))}
          and known.source_xmin = ${raw(root)}.xmin and known.source_ctid = ${raw(root)}.ctid)`,
  )} returning version`
}

const writtenRows = sql`select organization_id, id, source_xmin, source_ctid, document from written`

const insertSql = (resource: Resource, rows: Sql): Sql => sql`
  insert into ${tableOf(resource)} (organization_id, ${ownerOf(resource)}, version, source_xmin, source_ctid, document)
  select organization_id, id, ${raw(String(resource.renderingVersion))}, source_xmin, source_ctid, document
  from (${rows}) source order by organization_id, id`

/** `rows` has the table's columns except the version. In id order, so that transactions never deadlock. */
const storeSql = (resource: Resource, rows: Sql): Sql => sql`${insertSql(resource, rows)}
  on conflict (organization_id, ${ownerOf(resource)}) do update set version = excluded.version,
    source_xmin = excluded.source_xmin, source_ctid = excluded.source_ctid, document = excluded.document`
