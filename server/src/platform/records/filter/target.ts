import { identifier, join, Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { columnOf, type Embedded, type Resource } from '../declare/define.ts'
import { linkFields, linkTable } from '../declare/links.ts'
import { declaredValue } from '../declare/declared-value.ts'
import { listText } from '../declare/address-lists.ts'
import { andWithinReach, type ReadFor, type Scope } from './scope.ts'
import type { Schema } from '../../model/json.ts'
import { Suggestions } from '../../model/suggestions.ts'
import type { AddressList, Field, DeclaredProperty } from '../declare/field.ts'

/** What a dotted path in a request refers to. */
export interface Target {
  /** The path as the caller wrote it. */
  name: string
  field: Field
  /** The alias of the record's table. */
  alias: string
  /** The SQL value to compare, of the field's database type; for properties, the jsonb at `keys`. */
  value: Sql
  /** Path inside a properties field. */
  keys: readonly string[]
  nullable: boolean
  /** Tests whether a list is missing, which `value` shows as an empty one. */
  isMissing?: Sql
  /** True if the field belongs to the record itself, not to an embedded record. */
  isOwn: boolean
  /** True for a path into a document, which has no index. */
  isDocument?: true
  /** The definition of the custom property, whose field and SQL value these are. */
  declared?: DeclaredProperty
  /** The list in which `value` is the address of one entry. */
  list?: { name: string; of: AddressList }
  /** The links with this field; a record has any number of them, and `value` is that of one link. */
  link?: { table: string; column: string; otherColumn: string; other: Resource }
}

/** Maximum characters of a path into custom properties, because it is part of cursors. */
const maxPathLength = 200
const maxKeys = 16

/** The alias of the record's table in all standard statements. */
export const root = 'record'

const column = (alias: string, name: string): Sql => sql`${raw(alias)}.${identifier(columnOf(name))}`

/** The embedded record through which a reference field is read: its id is null while that record is deleted. */
export const embeddedThrough = (resource: Resource, fieldName: string): [string, Embedded] | undefined =>
  Object.entries(resource.embedded).find(([, embedded]) => embedded.through === fieldName && !embedded.always)

/** The value of a record's field, in a statement with the joins of `joins`. */
export function valueOf(
  resource: Resource,
  fieldName: string,
  alias = root,
  { organization, reader }: ReadFor = {},
): Sql {
  const { computed, list } = resource.fields[fieldName] ?? {}
  if (list) return sql`${listText(list, fieldName, raw(alias))}::json`
  if (computed) return computed(raw(alias), organization ?? sql`${raw(alias)}.organization_id`, reader)
  const through = embeddedThrough(resource, fieldName)
  return through ? sql`${raw(through[0])}.id` : column(alias, fieldName)
}

export const isJoined = (resource: Resource, { name, isOwn, link }: Target): boolean =>
  (!isOwn && !link) || embeddedThrough(resource, name) !== undefined

/** Left joins of the embedded records, if filters or the order use them. */
export function joins(resource: Resource, scope: Scope, alias = root): Sql {
  const parts = Object.entries(resource.embedded).map(
    ([name, embedded]) =>
      sql` left join ${identifier(embedded.resource.table)} ${raw(name)}
        on ${isEmbedded(name, embedded, scope.organization, alias)} and ${isShown(name, embedded, scope)}`,
  )
  return join(parts, '')
}

/** By key only: without statistics the planner assumes that most records are deleted, and may choose any index. */
export function lookupJoins(resource: Resource, scope: Scope, foundByField: ReadonlyMap<string, Sql> = new Map()): Sql {
  const parts = Object.entries(resource.embedded).map(([name, embedded]) => {
    const known = foundByField.get(embedded.through)
    if (known) return sql` left join ${known} ${raw(name)} on true`
    return sql` left join lateral (
      select * from ${identifier(embedded.resource.table)} ${raw(name)} where ${isEmbedded(name, embedded, scope.organization)} offset 0
    ) ${raw(name)} on ${isShown(name, embedded, scope)}`
  })
  return join(parts, '')
}

const isEmbedded = (name: string, { through }: Embedded, organization: Sql, alias = root): Sql =>
  sql`${raw(name)}.organization_id = ${organization} and ${raw(name)}.id = ${column(alias, through)}`

/** A record out of the reader's reach reads as null, like a deleted one. */
const isShown = (name: string, { resource }: Embedded, scope: Scope): Sql =>
  sql`${raw(resource.softDelete ? `${name}.deleted_at is null` : 'true')}${andWithinReach(resource, scope, raw(name))}`

/** `alias`: that of the record's table, for a related record. */
export function findTarget(
  resource: Resource,
  path: string,
  suggestions = new Suggestions(),
  alias = root,
): Target | { error: string } {
  const [head = '', ...rest] = path.split('.')
  const embedded = resource.propertyNames.includes(head) ? resource.embedded[head] : undefined
  if (embedded) return embeddedTarget(head, embedded, { path, alias }, rest)
  if (Object.hasOwn(resource.links, head)) return linkTarget(resource, head, { path, alias }, rest)
  const field = resource.propertyNames.includes(head) ? resource.fields[head] : undefined
  if (!field) return { error: unknownField(resource, path, suggestions) }
  if (field.filter === 'properties') return propertiesTarget(resource, head, field, { path, alias }, rest)
  if (rest.length > 0 && field.list) return listTarget(head, field.list, { path, alias }, rest)
  if (rest.length > 0 && field.filter === 'none') return documentTarget(resource, head, field, { path, alias }, rest)
  if (rest.length > 0) return { error: `unknown field; ${head} has no fields of its own` }
  return {
    name: path,
    field,
    alias,
    value: valueOf(resource, head, alias),
    keys: [],
    nullable: isNullable(resource, head, field),
    isOwn: true,
  }
}

/** A reference to a deleted record reads as null, even if it is required. */
const isNullable = (resource: Resource, name: string, field: Field): boolean =>
  field.nullable || embeddedThrough(resource, name) !== undefined

/** A path in a request and the alias of the table that it begins at. */
type Start = Readonly<Record<'path' | 'alias', string>>

function embeddedTarget(
  head: string,
  embedded: Embedded,
  { path, alias }: Start,
  rest: string[],
): Target | { error: string } {
  const name = rest.length === 0 ? embedded.orderBy : rest.join('.')
  const field = embedded.show.includes(name) ? embedded.resource.fields[name] : undefined
  if (!field) return { error: `unknown field; ${head} has ${embedded.show.join(', ')}` }
  return { name: path, field, alias, value: column(head, name), keys: [], nullable: true, isOwn: false }
}

/** The alias of a link in its condition. */
export const linkAlias = 'link'

function linkTarget(
  resource: Resource,
  head: string,
  { path, alias }: Start,
  rest: string[],
): Target | { error: string } {
  const link = resource.links[head]
  const fields = link ? linkFields(link) : {}
  const name = rest.join('.')
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (!field || field.filter === 'properties') {
    return { error: `unknown field; ${head} has ${Object.keys(fields).join(', ')}` }
  }
  const value = column(linkAlias, name)
  return {
    name: path,
    field,
    alias,
    value,
    keys: [],
    nullable: field.nullable,
    isOwn: false,
    ...(link && { link: { ...linkTable(resource, head), other: link.resource } }),
  }
}

/** The alias of an entry of a list in its condition. */
const entryAlias = raw('entry.address')

function listTarget(
  head: string,
  list: AddressList,
  { path, alias }: Start,
  rest: string[],
): Target | { error: string } {
  if (rest.join('.') !== list.item) return { error: `unknown field; ${head} can be filtered by ${list.item}` }
  const field = list.itemField
  return {
    name: path,
    field,
    alias,
    value: entryAlias,
    keys: [],
    nullable: true,
    isOwn: true,
    list: { name: head, of: list },
  }
}

function propertiesTarget(
  resource: Resource,
  head: string,
  field: Field,
  { path, alias }: Start,
  written: string[],
): Target | { error: string } {
  const keys = written.map((key, index) => (index === 0 && field.keyForm ? field.keyForm(key) : key))
  if (keys.includes('')) return { error: `expected a key, as in ${head}.plan` }
  const error = tooLong(path, keys)
  if (error !== undefined) return { error }
  const declared = field.declared?.properties.get(keys[0] ?? '')
  if (declared) return declaredTarget(resource, head, declared, { path, alias }, keys)
  // Key by key: `#>` would treat a number as a list index, which neither containment nor select[] does.
  const value = keys.reduce((inner, key) => sql`(${inner} -> ${key}::text)`, valueOf(resource, head, alias))
  return { name: path, field, alias, value, keys, nullable: true, isOwn: true }
}

/** A value inside a document is compared like a custom property without a definition; an object has fields only. */
function documentTarget(
  resource: Resource,
  head: string,
  field: Field,
  { path, alias }: Start,
  keys: string[],
): Target | { error: string } {
  const found = schemaAt(head, field.schema, keys)
  if ('error' in found) return found
  const error = tooLong(path, keys)
  if (error !== undefined) return { error }
  const document = sql`(${valueOf(resource, head, alias)})::jsonb`
  return {
    name: path,
    // The schema of a value would be taken for that of the field, whose choices filters are checked against.
    field: { ...field, filter: found.schema.properties ? 'none' : 'properties', schema: {} },
    alias,
    value: keys.reduce((inner, key) => sql`(${inner} -> ${key}::text)`, document),
    keys,
    nullable: true,
    isOwn: true,
    isDocument: true,
  }
}

/** Has the document properties that a path can name? */
export const hasPaths = ({ filter, schema }: Field): boolean =>
  filter === 'none' && (schema.properties !== undefined || schema.additionalProperties === true)

/** The schema at a path into an object with this schema; an empty one where any value is possible. */
function schemaAt(
  parent: string,
  schema: Schema,
  [key, ...others]: readonly string[],
): { schema: Schema } | { error: string } {
  if (key === undefined) return { schema }
  if (key === '') return { error: `expected a key, as in ${parent}.<key>` }
  const properties = (schema.properties ?? {}) as Readonly<Record<string, Schema>>
  const inner = Object.hasOwn(properties, key) ? properties[key] : undefined
  if (inner) return schemaAt(`${parent}.${key}`, inner, others)
  if (schema.additionalProperties === true) return { schema: {} }
  const names = Object.keys(properties)
  return { error: `unknown field; ${parent} has ${names.length > 0 ? names.join(', ') : 'no fields of its own'}` }
}

function tooLong(path: string, keys: readonly string[]): string | undefined {
  if (keys.length > maxKeys) return 'is nested too deeply'
  return path.length > maxPathLength ? `must have at most ${maxPathLength} characters` : undefined
}

/** A property with a definition is compared like a field of its type; an amount of money by its parts. */
function declaredTarget(
  resource: Resource,
  head: string,
  declared: DeclaredProperty,
  { path, alias }: Start,
  keys: string[],
): Target | { error: string } {
  const [key = '', part, ...others] = keys
  const { parts } = declared
  const field = part === undefined ? declared.field : Object.hasOwn(parts, part) ? parts[part] : undefined
  if (!field || others.length > 0) {
    const names = Object.keys(parts)
    return {
      error: `unknown field; ${head}.${key} has ${names.length > 0 ? names.join(', ') : 'no fields of its own'}`,
    }
  }
  const json = sql`(${valueOf(resource, head, alias)} -> ${new Parameter(key)}::text)`
  const value = declaredValue(declared, json, part)
  const target = { name: path, field, alias, value, keys, isOwn: true, declared }
  return field.filter === 'array'
    ? { ...target, nullable: false, isMissing: sql`(jsonb_typeof(${json}) is distinct from 'array')` }
    : { ...target, nullable: true }
}

export function unknownField(resource: Resource, path: string, suggestions: Suggestions): string {
  const suggestion = suggestions.for(path, resource.propertyNames)
  return suggestion ? `unknown field; did you mean ${suggestion}?` : 'unknown field'
}
