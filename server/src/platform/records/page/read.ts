import type { Connection } from '../../database/database.ts'
import { OutdatedRead } from '../../database/failures.ts'
import { identifier, Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { ApiError, type FieldError } from '../../model/errors.ts'
import { type PagePlan, type PageRow, type planCount, withinScope } from './page.ts'
import { allConditionsOf, type Filter, withConditions } from '../filter/filter.ts'
import type { Cursor } from './parse.ts'
import { readFor, existsSql, parentFound, type Scope } from '../filter/scope.ts'
import { type RelativeSpan, relativeSpansSql } from '../filter/relative-dates.ts'
import { documentJoins, documentSql, type Selection } from './select.ts'
import { root } from '../filter/target.ts'
import { displayNoun, isElsewhere, type Resource } from '../declare/define.ts'

/** A record as it is sent, with its revision for the ETag. */
export interface ShownRecord {
  text: string
  revision: number
}

/** 404 for a record that does not exist, is deleted, or belongs to another organization, team or parent. */
export const notFound = (resource: Resource): ApiError =>
  new ApiError('not_found', `There is no ${displayNoun(resource.singular)} with this id.`)

/** 403 for a record that the caller sees but may not change. */
export const mayNotChange = (resource: Resource): ApiError =>
  new ApiError(
    'insufficient_permissions',
    `You can see this ${displayNoun(resource.singular)} but not change it. Ask its owner or an administrator.`,
  )

/** 404 for restoring a record that was never deleted, or too long ago. */
export const notDeleted = (resource: Resource): ApiError =>
  new ApiError(
    'not_found',
    `No ${displayNoun(resource.singular)} with this id was deleted within the last ${resource.restorableDays} days.`,
  )

/** 404 for the parent in the path. */
export function parentNotFound(resource: Resource): ApiError {
  return new ApiError(
    'not_found',
    `There is no ${displayNoun(resource.parent?.resource.singular ?? 'record')} with this id.`,
  )
}

/** One record as text. Throws 404. */
export async function readRecord(
  db: Connection,
  resource: Resource,
  id: string,
  { parentId, selection }: { parentId?: string | undefined; selection?: Selection | undefined } = {},
): Promise<ShownRecord> {
  await assertParentElsewhere(db, resource, parentId)
  const scope = scopeOf(db, parentId)
  const build = ([
    value,
  ]: readonly Parameter[]) => sql`select ${documentSql(resource, { selection, ...readFor(resource, scope) })} as text, ${raw(root)}.revision
    from ${identifier(resource.table)} ${raw(root)}${documentJoins(resource, scope)}
    where ${withinScope(resource, scope)} and ${raw(root)}.id = ${value}::uuid and ${parentFound(resource, scope)}`
  // A parent would be a second value, and a selection a different text.
  const isFixed = selection === undefined && parentId === undefined
  const fixed = { name: `${resource.component} one`, isCheap: true, values: [id], build }
  const [row] = await db.query<ShownRecord>(isFixed ? fixed : build([new Parameter(id)]))
  if (!row) throw notFound(resource)
  return row
}

/**
 * A page as text. Throws 404 if the parent or the cursor's record does not exist, or `OutdatedRead` if an index that the
 * plan uses has been dropped.
 */
export async function readPage(
  db: Connection,
  resource: Resource,
  plan: PagePlan,
  cursor: Cursor | undefined,
): Promise<PageRow> {
  const [row] = await db.query<PageRow>(plan.statement)
  if (!row) throw new Error('the page statement returned no row')
  if (!row.indexes_ready) throw new OutdatedRead()
  if (!row.parent_found) throw parentNotFound(resource)
  if (!row.cursor_found) throw unknownCursor(resource, cursor)
  return row
}

function unknownCursor(resource: Resource, cursor: Cursor | undefined): ApiError {
  const error: FieldError = {
    field: cursor?.parameter ?? 'startingAfter',
    message: `no ${displayNoun(resource.singular)} with this id exists`,
  }
  return new ApiError(
    'not_found',
    'The cursor’s record does not exist in this list; start again from the first page.',
    {
      details: [error],
    },
  )
}

/** The number of records. Throws 404 if the parent does not exist, or `OutdatedRead` like a page. */
export async function readCount(
  db: Connection,
  resource: Resource,
  plan: ReturnType<typeof planCount>,
): Promise<number> {
  const [row] = await db.query<{ count: string; parent_found: boolean; indexes_ready: boolean }>(plan.statement)
  if (row && !row.indexes_ready) throw new OutdatedRead()
  if (!row?.parent_found) throw parentNotFound(resource)
  return Number(row.count)
}

/** The filter with the spans of its relative dates. Reads the time zone only if there are any. */
export async function readRelativeSpans(
  db: Connection,
  filter: Filter,
  timeZone: () => Promise<string>,
  now?: Sql,
): Promise<Filter> {
  const dates = new Map(
    allConditionsOf(filter).flatMap(({ operand }) =>
      operand.kind === 'relative' ? [[JSON.stringify(operand.date), operand.date] as const] : [],
    ),
  )
  if (dates.size === 0) return filter
  const { organization } = db
  const options = { zone: await timeZone(), organization, ...(now && { now }) }
  const rows = await db.query<RelativeSpan>(relativeSpansSql([...dates.values()], options))
  const spans = new Map([...dates.keys()].map((key, index) => [key, rows[index]]))
  return withConditions(filter, (condition) => {
    const { target, operand } = condition
    if (operand.kind !== 'relative') return condition
    const span = spans.get(JSON.stringify(operand.date))
    if (!span) throw new Error('the statement of the relative dates returned too few rows')
    // A field without a time has days, which are the same in every time zone.
    return {
      ...condition,
      operand: { kind: 'span', span: target.field.databaseType === 'date' ? span.days : span.instants },
    }
  })
}

/** Checks a parent that the statement of its records cannot name. Throws 404. */
export async function assertParentElsewhere(
  db: Connection,
  resource: Resource,
  parentId: string | undefined,
): Promise<void> {
  const { parent } = resource
  if (!parent || !isElsewhere(parent, resource)) return
  const isFound = existsSql(parent.resource, scopeOf(db, undefined), sql`${parentId}::uuid`)
  const [row] = await db.query<{ found: boolean }>(sql`select ${isFound} as found`)
  if (!row?.found) throw parentNotFound(resource)
}

export const scopeOf = ({ organization, actor }: Connection, parentId: string | undefined): Scope =>
  parentId === undefined ? { organization, actor } : { organization, actor, parentId }
