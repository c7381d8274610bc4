import { join, raw, type Sql, sql } from '../../model/sql.ts'
import { columnOf, type Embedded, type Resource } from '../declare/define.ts'
import {
  newRendering,
  type RecordSource,
  renderedSql,
  renderingJoin,
  rowVersion,
  versionColumns,
} from '../rendering/rendering.ts'
import type { ReadFor, Scope } from '../filter/scope.ts'
import { embeddedThrough, findTarget, lookupJoins, root, unknownField, valueOf } from '../filter/target.ts'
import type { Suggestions } from '../../model/suggestions.ts'
import type { Field } from '../declare/field.ts'

/** The properties to show; true means the whole property, a tree some of its fields. */
export interface Selection {
  [name: string]: true | Selection
}

/** Parses `select[]` paths into a tree, with an error for each unknown path. */
export function parseSelection(
  resource: Resource,
  paths: readonly string[],
  suggestions: Suggestions,
): { selection: Selection; errors: string[] } {
  // No prototype: `__proto__` and `constructor` are ordinary names.
  const selection: Selection = Object.create(null)
  const errors: string[] = []
  for (const path of paths) {
    const [head = '', ...rest] = path.split('.')
    const whole = rest.length === 0 && resource.propertyNames.includes(head)
    const target = whole ? undefined : findTarget(resource, path, suggestions)
    if (target && 'error' in target) errors.push(errorOf(path, target.error))
    else if (target?.list) errors.push(errorOf(path, `select ${head}, whose entries are shown as a whole`))
    else if (target?.link) errors.push(errorOf(path, 'belongs to records of their own; list those'))
    else if (!whole && rest.length === 0) errors.push(errorOf(path, unknownField(resource, path, suggestions)))
    else add(selection, [head, ...(target && target.keys.length > 0 ? target.keys : rest)])
  }
  return { selection, errors }
}

/** The error of one path among several in the same parameter. */
export const errorOf = (path: string, error: string): string => `"${path.slice(0, 100)}": ${error}`

/** If both a property and a part of it are selected, the whole property is shown. */
function add(selection: Selection, [head = '', ...rest]: string[]): void {
  const present = selection[head]
  if (present === true) return
  if (rest.length === 0) {
    selection[head] = true
    return
  }
  const inner: Selection = present ?? Object.create(null)
  selection[head] = inner
  add(inner, rest)
}

interface DocumentOptions extends ReadFor {
  selection?: Selection | undefined
  /** Where the statement finds the record; by default in its table. */
  source?: RecordSource
}

/**
 * The record as JSON text: its rendering and the properties after it, or `row_to_json` (json_build_object takes at most
 * 100 arguments). Needs `documentJoins`, or `lookupJoins` for a written record.
 */
export function documentSql(
  resource: Resource,
  { selection, source = 'table', organization, reader }: DocumentOptions = {},
): Sql {
  const readFor = { organization, reader }
  if (selection) return composedSql(resource, selection, readFor)
  if (organization || reader) {
    return resource.renderingVersion === undefined
      ? composedSql(resource, undefined, readFor)
      : completed(resource, source, readFor)
  }
  const known = wholeDocuments[source].get(resource)
  if (known) return known
  const document = resource.renderingVersion === undefined ? composedSql(resource) : completed(resource, source)
  wholeDocuments[source].set(resource, document)
  return document
}

/** The joins for `documentSql`: the embedded records, and the stored rendering of the record or its full resource. */
export const documentJoins = (resource: Resource, scope: Scope): Sql =>
  sql`${lookupJoins(resource, scope)}${renderingJoin(resource.viewOf ?? resource, scope.organization)}`

/** Adds the properties that depend on other records: references read as null while those are deleted. */
function completed(resource: Resource, source: RecordSource, readFor?: ReadFor): Sql {
  const stored = renderedSql(resource, source, readFor?.organization)
  const others = resource.propertyNames.filter((name) => !isRendered(resource, name))
  const completion = others.map((name) => sql`${raw(`',"${name}":'`)} || ${propertyText(resource, name, readFor)}`)
  return sql`(${join([stored, ...completion], ' || ')} || '}')`
}

/** The fields that a record has of its own, and that change only with an event: not the time of the last activity. */
export const ownFields = (resource: Resource): string[] =>
  Object.entries((resource.viewOf ?? resource).fields).flatMap(([name, { computed, neverDecreases }]) =>
    computed || neverDecreases ? [] : [name],
  )

/** What a written record has of its own, for any reader, as JSON text; more than `ownFields` if it is rendered. */
export function ownText(resource: Resource, source: 'written' | 'table'): Sql {
  const whole = resource.viewOf ?? resource
  const names = ownFields(whole)
  if (whole.renderingVersion === undefined) return textOf(whole, names)
  const completion = names
    .filter((name) => !isRendered(whole, name))
    .map((name) => sql`${raw(`',"${name}":'`)} || ${jsonOf(whole.fields[name], ownValue(whole, name))}`)
  return sql`(${join([newRendering(whole, source), ...completion], ' || ')} || '}')`
}

/** These fields of the row `record`, as they are stored, as JSON text. */
export function textOf(resource: Resource, names: readonly string[]): Sql {
  const columns = names.map((name) => sql`${ownValue(resource, name)} as ${quoted(name)}`)
  return sql`(select row_to_json(properties)::text from (select ${join(columns, ', ')}) properties)`
}

const ownValue = (resource: Resource, name: string): Sql => {
  const field = fieldOf(resource, name)
  return field.list ? valueOf(resource, name) : shownValue(field, sql`${raw(root)}.${quoted(columnOf(name))}`)
}

export const isRendered = (resource: Resource, name: string): boolean =>
  !(name in resource.embedded) && embeddedThrough(resource, name) === undefined

/** The columns that a page carries for each found record. */
export interface PageColumns {
  /** From the record in its table. */
  read: Sql
  /** From the record in its table, when `again` is selected from the result later. */
  whole: Sql
  /** From a record that was read completely. */
  again: Sql
  /** False if these are all columns. */
  isNarrow: boolean
}

/** With a rendering, only what `documentSql` of a carried record and `documentJoins` need; otherwise all columns. */
export function pageColumns(resource: Resource, selection: Selection | undefined): PageColumns {
  const all = sql`${raw(root)}.*`
  if (selection || resource.renderingVersion === undefined)
    return { read: all, whole: all, again: all, isNarrow: false }
  const columns = (names: readonly string[]) =>
    join(
      names.map((name) => sql`${raw(root)}.${quoted(name)}`),
      ', ',
    )
  const names = ['organization_id', 'id', ...Object.values(resource.embedded).map(({ through }) => columnOf(through))]
  return {
    read: sql`${columns(names)}, ${rowVersion}`,
    whole: sql`${all}, ${rowVersion}`,
    again: columns([...names, ...versionColumns]),
    isNarrow: true,
  }
}

/** A property as JSON text; concatenated, because composing a row costs more for a few properties. */
function propertyText(resource: Resource, name: string, readFor?: ReadFor): Sql {
  const embedded = resource.embedded[name]
  if (!embedded) return jsonOf(resource.fields[name], propertySql(resource, name, true, readFor))
  const parts = shownOf(name, embedded, true).map(
    ([inner, value]) => sql`${raw(`'"${inner}":'`)} || ${jsonOf(embedded.resource.fields[inner], value)}`,
  )
  return sql`case when ${raw(name)}.id is null then 'null' else '{' || ${join(parts, ` || ',' || `)} || '}' end`
}

/** A value as JSON text. An id needs no escaping, and `to_json` would look up its type each time. */
const jsonOf = (field: Field | undefined, shown: Sql): Sql =>
  field?.idPrefix === undefined
    ? sql`coalesce(to_json(${shown})::text, 'null')`
    : sql`coalesce('"' || ${shown} || '"', 'null')`

export function composedSql(resource: Resource, selection?: Selection, readFor?: ReadFor): Sql {
  const names = resource.propertyNames.filter((name) => selection === undefined || name in selection)
  const columns = names.map(
    (name) => sql`${propertySql(resource, name, selection?.[name] ?? true, readFor)} as ${quoted(name)}`,
  )
  return sql`(select row_to_json(properties)::text from (select ${join(columns, ', ')}) properties)`
}

/** Cached: the SQL of a whole record never changes, and nearly every request needs it. */
const wholeDocuments: Record<RecordSource, WeakMap<Resource, Sql>> = {
  table: new WeakMap(),
  carried: new WeakMap(),
  written: new WeakMap(),
}

const quoted = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

function propertySql(resource: Resource, name: string, part: true | Selection, readFor?: ReadFor): Sql {
  const embedded = resource.embedded[name]
  if (embedded) {
    const columns = shownOf(name, embedded, part).map(([inner, value]) => sql`${value} as ${quoted(inner)}`)
    return sql`(case when ${raw(name)}.id is not null then (select row_to_json(inside) from (select ${join(columns, ', ')}) inside) end)`
  }
  const field = fieldOf(resource, name)
  const value = valueOf(resource, name, root, readFor)
  return part === true ? shownValue(field, value) : pickSql(sql`(${value})::jsonb`, part)
}

/** The shown fields of an embedded record, by name. */
function shownOf(name: string, { show, resource }: Embedded, part: true | Selection): [string, Sql][] {
  return show
    .filter((inner) => part === true || inner in part)
    .map((inner) => {
      return [inner, shownValue(fieldOf(resource, inner), sql`${raw(name)}.${quoted(columnOf(inner))}`)]
    })
}

function fieldOf(resource: Resource, name: string): Field {
  const field = resource.fields[name]
  if (!field) throw new Error(`${resource.name} has no field ${name}`)
  return field
}

/** The selected part of a jsonb value; a missing key is null. */
function pickSql(value: Sql, selection: Selection): Sql {
  const entries = Object.entries(selection).map(([key, part]) => {
    const inner = sql`(${value} -> ${key}::text)`
    return sql`jsonb_build_object(${key}::text, ${part === true ? inner : pickSql(inner, part)})`
  })
  const object = entries.reduce((all, entry) => sql`${all} || ${entry}`)
  return sql`(case when jsonb_typeof(${value}) = 'object' then ${object} end)`
}

function shownValue(field: Field, value: Sql): Sql {
  if (field.idPrefix !== undefined) return sql`${raw(`'${field.idPrefix}_'`)} || replace(${value}::text, '-', '')`
  switch (field.databaseType) {
    case 'timestamptz':
      return sql`to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    case 'numeric':
      return sql`${value}::text`
    default:
      return value
  }
}
