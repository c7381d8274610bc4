import { closest, distance } from 'fastest-levenshtein'
import { identifier, join, raw, type Sql, sql } from '../database/sql.ts'
import { columnOf, type Embedded, type Resource } from '../resource/define.ts'
import type { Field } from '../resource/fields.ts'

/** What a dotted path of a request points at. */
export interface Target {
  /** The path as the caller wrote it. */
  name: string
  field: Field
  /** The SQL value to compare, of the field's database type; for properties the jsonb at `keys`. */
  value: Sql
  /** Path inside a properties field. */
  keys: readonly string[]
  nullable: boolean
  /** True when the field is the record's own and not one of an embedded record. */
  own: boolean
}

/** Characters of a path into custom properties: it comes back in cursors. */
const longestPath = 200

/** The alias of the record's table in every statement of the kernel. */
export const root = 'record'

const column = (alias: string, name: string): Sql => sql`${raw(alias)}.${identifier(columnOf(name))}`

/** The embedded record that a reference field is read through: its id is null while that record is deleted. */
export const embeddedThrough = (resource: Resource, fieldName: string): [string, Embedded] | undefined =>
  Object.entries(resource.embedded).find(([, embedded]) => embedded.through === fieldName && !embedded.always)

/** The value of a record's field in a statement that joins what `joins` gives. */
export function valueOf(resource: Resource, fieldName: string, alias = root): Sql {
  const call = resource.fields[fieldName]?.computed
  if (call !== undefined) return sql`${identifier(call)}(${raw(alias)}.organization_id, ${raw(alias)}.id)`
  const through = embeddedThrough(resource, fieldName)
  return through ? sql`${raw(through[0])}.id` : column(alias, fieldName)
}

/** Is the target's value read from an embedded record? */
export const isJoined = (resource: Resource, { name, own }: Target): boolean =>
  !own || embeddedThrough(resource, name) !== undefined

/** The left joins that embedded records are read from where they decide what is found, or its order. */
export function joins(resource: Resource, organization: Sql): Sql {
  const parts = Object.entries(resource.embedded).map(
    ([name, embedded]) =>
      sql` left join ${identifier(embedded.resource.table)} ${raw(name)}
        on ${isEmbedded(name, embedded, organization)} and ${isShown(name)}`,
  )
  return join(parts, '')
}

/**
 * The same for the few records of a page: each looks up its own, whatever the planner thinks of reading them all. By the
 * key alone: of a table without statistics it thinks that nearly all is deleted, and then any index would do.
 */
export function lookups(resource: Resource, organization: Sql): Sql {
  const parts = Object.entries(resource.embedded).map(
    ([name, embedded]) => sql` left join lateral (
      select * from ${identifier(embedded.resource.table)} ${raw(name)} where ${isEmbedded(name, embedded, organization)} offset 0
    ) ${raw(name)} on ${isShown(name)}`,
  )
  return join(parts, '')
}

const isEmbedded = (name: string, { through }: Embedded, organization: Sql): Sql =>
  sql`${raw(name)}.organization_id = ${organization} and ${raw(name)}.id = ${column(root, through)}`

const isShown = (name: string): Sql => sql`${raw(name)}.deleted_at is null`

/** Finds what `path` names, or says what is wrong with it. */
export function findTarget(resource: Resource, path: string): Target | { fault: string } {
  const [head = '', ...rest] = path.split('.')
  const embedded = resource.members.includes(head) ? resource.embedded[head] : undefined
  if (embedded) return embeddedTarget(head, embedded, path, rest)
  const field = resource.members.includes(head) ? resource.fields[head] : undefined
  if (!field) return { fault: unknownField(resource, path) }
  if (field.filter === 'properties') return propertiesTarget(resource, head, field, path, rest)
  if (rest.length > 0) return { fault: `unknown field; ${head} has no fields of its own` }
  return {
    name: path,
    field,
    value: valueOf(resource, head),
    keys: [],
    nullable: isNullable(resource, head, field),
    own: true,
  }
}

/** A reference can point to a deleted record and then reads as null, required or not. */
const isNullable = (resource: Resource, name: string, field: Field): boolean =>
  field.nullable || embeddedThrough(resource, name) !== undefined

function embeddedTarget(head: string, embedded: Embedded, path: string, rest: string[]): Target | { fault: string } {
  const name = rest.length === 0 ? embedded.orderBy : rest.join('.')
  const field = embedded.show.includes(name) ? embedded.resource.fields[name] : undefined
  if (!field) return { fault: `unknown field; ${head} has ${embedded.show.join(', ')}` }
  return { name: path, field, value: column(head, name), keys: [], nullable: true, own: false }
}

function propertiesTarget(
  resource: Resource,
  head: string,
  field: Field,
  path: string,
  keys: string[],
): Target | { fault: string } {
  if (keys.includes('')) return { fault: `needs a key, such as ${head}.plan` }
  if (keys.length > 16) return { fault: 'is nested too deep' }
  if (path.length > longestPath) return { fault: `must have at most ${longestPath} characters` }
  // Key by key: `#>` would take a number for a place in a list, which neither containment nor select[] does.
  const value = keys.reduce((inner, key) => sql`(${inner} -> ${key}::text)`, valueOf(resource, head))
  return { name: path, field, value, keys, nullable: true, own: true }
}

/** The fault of an unknown field, with the name that was probably meant. */
export function unknownField(resource: Resource, path: string): string {
  const suggestion = suggest(path, resource.members)
  return suggestion ? `unknown field; did you mean ${suggestion}?` : 'unknown field'
}

/** The known name nearest to `name`, if it is near enough to have been meant. */
export function suggest(name: string, known: readonly string[]): string | undefined {
  if (name.length > 80 || known.length === 0) return undefined
  const nearest = closest(name, known)
  return distance(name.toLowerCase(), nearest.toLowerCase()) <= (nearest.length < 5 ? 1 : Math.ceil(nearest.length / 3))
    ? nearest
    : undefined
}
