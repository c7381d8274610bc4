import { join, raw, type Sql, sql } from '../database/sql.ts'
import { columnOf, type Embedded, type Resource } from '../resource/define.ts'
import type { Field } from '../resource/fields.ts'
import { embeddedThrough, findTarget, root, unknownField, valueOf } from './target.ts'

/** The members to show; true is the whole member, a tree some of its fields. */
export interface Selection {
  [name: string]: true | Selection
}

/** Reads `select[]` paths into a tree, or gives a fault for each that names nothing. */
export function readSelection(
  resource: Resource,
  paths: readonly string[],
): { selection: Selection; faults: string[] } {
  // Without a prototype: `__proto__` and `constructor` are names like any other.
  const selection: Selection = Object.create(null)
  const faults: string[] = []
  for (const path of paths) {
    const [head = '', ...rest] = path.split('.')
    const whole = rest.length === 0 && resource.members.includes(head)
    const target = whole ? undefined : findTarget(resource, path)
    if (target && 'fault' in target) faults.push(target.fault)
    else if (!whole && rest.length === 0) faults.push(unknownField(resource, path))
    else add(selection, [head, ...rest])
  }
  return { selection, faults }
}

/** A whole member and a part of it, in either order: the whole one is shown. */
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

/**
 * The record as JSON text, built by PostgreSQL: what is stored rendered and the members behind it, else `row_to_json` over
 * a row of the members (json_build_object takes 100 arguments at most). Needs the joins of `lookups(resource)`.
 */
export function documentSql(resource: Resource, selection?: Selection): Sql {
  const known = selection ? undefined : wholeDocuments.get(resource)
  if (known) return known
  const made = !selection && resource.rendered !== undefined ? completed(resource) : composed(resource, selection)
  if (!selection) wholeDocuments.set(resource, made)
  return made
}

/** The stored text ends before what other records decide: references that read as null while those are deleted. */
function completed(resource: Resource): Sql {
  const stored = sql`${raw(root)}.${quoted(resource.rendered ?? '')}`
  const others = resource.members.filter((name) => !isRendered(resource, name))
  const completion = others.map((name) => sql`${raw(`',"${name}":'`)} || ${textOf(resource, name)}`)
  return sql`(${join([stored, ...completion], ' || ')} || '}')`
}

/** Does the stored text hold the member? */
export const isRendered = (resource: Resource, name: string): boolean =>
  !(name in resource.embedded) && embeddedThrough(resource, name) === undefined

/** The columns that `documentSql` of the whole record and the joins of `lookups(resource)` need; undefined: any. */
export function carriedSql(resource: Resource): Sql | undefined {
  if (resource.rendered === undefined) return undefined
  const others = Object.values(resource.embedded).map(({ through }) => columnOf(through))
  const names = ['id', resource.rendered, ...others]
  return join(
    names.map((name) => sql`${raw(root)}.${quoted(name)}`),
    ', ',
  )
}

/** A member as JSON text; concatenated, because composing a row costs more than a few members do. */
function textOf(resource: Resource, name: string): Sql {
  const embedded = resource.embedded[name]
  if (!embedded) return sql`coalesce(to_json(${memberSql(resource, name, true)})::text, 'null')`
  const parts = shownOf(name, embedded, true).map(
    ([inner, value]) => sql`${raw(`'"${inner}":'`)} || coalesce(to_json(${value})::text, 'null')`,
  )
  return sql`case when ${raw(name)}.id is null then 'null' else '{' || ${join(parts, ` || ',' || `)} || '}' end`
}

/** The record composed member by member. */
export function composed(resource: Resource, selection?: Selection): Sql {
  const names = resource.members.filter((name) => selection === undefined || name in selection)
  const columns = names.map((name) => sql`${memberSql(resource, name, selection?.[name] ?? true)} as ${quoted(name)}`)
  return sql`(select row_to_json(members)::text from (select ${join(columns, ', ')}) members)`
}

/** The whole record's text never changes, and is asked for by nearly every request. */
const wholeDocuments = new WeakMap<Resource, Sql>()

const quoted = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

function memberSql(resource: Resource, name: string, part: true | Selection): Sql {
  const embedded = resource.embedded[name]
  if (embedded) {
    const columns = shownOf(name, embedded, part).map(([inner, value]) => sql`${value} as ${quoted(inner)}`)
    return sql`(case when ${raw(name)}.id is not null then (select row_to_json(inside) from (select ${join(columns, ', ')}) inside) end)`
  }
  const field = resource.fields[name]
  if (!field) throw new Error(`${resource.name} has no field ${name}`)
  const value = valueOf(resource, name)
  return part === true ? shownValue(field, value) : pick(value, part)
}

/** What is shown of an embedded record, by name. */
function shownOf(name: string, { show, resource }: Embedded, part: true | Selection): [string, Sql][] {
  return show
    .filter((inner) => part === true || inner in part)
    .map((inner) => {
      const field = resource.fields[inner]
      if (!field) throw new Error(`${resource.name} has no field ${inner}`)
      return [inner, shownValue(field, sql`${raw(name)}.${quoted(columnOf(inner))}`)]
    })
}

/** The part of a jsonb value that a selection names; a named key that is missing is null. */
function pick(value: Sql, selection: Selection): Sql {
  const entries = Object.entries(selection).map(([key, part]) => {
    const inner = sql`(${value} -> ${key}::text)`
    return sql`jsonb_build_object(${key}::text, ${part === true ? inner : pick(inner, part)})`
  })
  const object = entries.reduce((all, entry) => sql`${all} || ${entry}`)
  return sql`(case when jsonb_typeof(${value}) = 'object' then ${object} end)`
}

/** A stored value as the JSON of the answers shows it. */
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
