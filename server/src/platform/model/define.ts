import type { BodyFault } from './errors.ts'
import type { RoleGroup } from './scopes.ts'
import type { Field, JsonObject, JsonValue } from './fields.ts'

export type Fields = Record<string, Field>

/** A part of a referenced record, shown inside the record that refers to it: null while that one is deleted. */
export interface Embedded {
  label: string
  /** The reference field that it follows. */
  through: string
  resource: Resource
  show: readonly string[]
  /** Field of the other resource that stands for the whole when a list is ordered by it. */
  orderBy: string
  /** The other record is there as long as this one is, such as the person behind a member. */
  always?: true
}

/** A resource that lives inside another (`/contacts/{contactId}/employments`) or is seen through it (a team's contacts). */
export interface Parent {
  /** The path parameter that names the parent. */
  parameter: string
  resource: Resource
  column: string
  /** True when a parent has so few of them that reading them all is cheap. */
  isSmall: boolean
}

/** Many-to-many: the records at the other end, by a table of links that have fields of their own. */
export interface Link {
  label: string
  /** The resource at the other end. */
  resource: Resource
  /** What a link shows of the record at the other end. */
  show: readonly string[]
  /** Field of the other resource that stands for the whole when links are ordered by it. */
  orderBy: string
  /** Singular noun, component and id prefix of the links themselves. */
  singular: string
  component: string
  idPrefix: string
  heading?: string
  /** What a link says beside who is linked. */
  fields: Fields
}

export interface Prepared {
  values: JsonObject
  /** Columns that callers never see, such as a folded address. */
  hidden?: Record<string, JsonValue>
  faults?: BodyFault[]
}

/**
 * The declaration of a resource, written once (docs/architecture.md): rows, validation, routes, filters, order, search,
 * OpenAPI and SQL follow from it.
 */
export interface Resource<F extends Fields = Fields> {
  /** Plural noun: URL segment, table and folder. */
  name: string
  /** Singular noun: scopes and messages. */
  singular: string
  /** Component in the OpenAPI document. */
  component: string
  table: string
  idPrefix: string
  /** What the documentation says under its heading; without it the routes stand under another resource's. */
  heading?: string
  /** What the roles below an administrator may do with it. */
  roleGroup: RoleGroup
  /** The standard changes that the audit log records, with a sentence each; the routes of the others record nothing. */
  audited?: Partial<Record<AuditedChange, string>>
  /** In the order of the answers. */
  fields: F
  embedded: Record<string, Embedded>
  /** The members of an answer, fields and embedded records, in order. */
  propertyNames: readonly string[]
  /** What `query` reads: said in the documentation; `searchCondition` of the store says it in SQL. */
  search: readonly string[]
  /** Embedded fields whose text `query` reads too, as `company.name`. */
  searchEmbedded: readonly string[]
  /** Hidden columns that `prepare` fills, with their types. */
  hidden: Record<string, string>
  /** Unique index → the field that callers know it by, the columns that hold the value, and whether case and accents count. */
  uniques: Record<string, { field: string; columns: readonly string[]; folded?: boolean }>
  /**
   * The version of the stored rendering: the record's JSON up to the members that other records decide (decision 10). A change
   * of the declaration or of the function `<singular>_document` that changes the text needs the next number. Worth its room
   * where pages are read often.
   */
  renderingVersion?: number
  parent?: Parent
  /** Where a record can live in one of several kinds of parents: each has exactly one. `underParent` chooses one. */
  parents?: readonly Parent[]
  /** What it lives in where no path names it: a record whose parent is deleted is not there either. */
  requiredParents?: readonly Pick<Parent, 'resource' | 'column'>[]
  /** The field with the place of a record among those of its parent, from 0 on without gaps: writing it moves the record. */
  positionField?: string
  /** Many-to-many relationships, by the name that filters use. */
  links: Record<string, Link>
  /** What this is a narrower view of: rules between fields hold for the whole record, whatever a view shows of it. */
  viewOf?: Resource
  /** Deleted records can be restored for `restorableDays` and are purged then. False: DELETE is final. */
  softDelete: boolean
  restorableDays: number
  /** True when an organization has so few of them that reading them all is cheap: they need no indexes of their own. */
  isSmall: boolean
  /**
   * What no declaration can say: derived and hidden values, rules between fields. Pure. `values` are the fields that a
   * caller sent, normalized; `current` is the record before the change, or undefined for a new one.
   */
  prepare?(values: Values<NoInfer<F>>, current: Values<NoInfer<F>> | undefined): Prepared
}

/** The standard changes of a record. */
export const auditedChanges = { create: 'created', update: 'updated', delete: 'deleted', restore: 'restored' } as const
export type AuditedChange = keyof typeof auditedChanges
export type StandardAction = `${string}.${(typeof auditedChanges)[AuditedChange]}`

/** The name of the audit log's action for a standard change, when the declaration says that it is audited. */
export const actionOf = ({ singular, audited = {} }: Resource, change: AuditedChange): StandardAction | undefined =>
  audited[change] === undefined ? undefined : `${singular}.${auditedChanges[change]}`

type Defaults =
  | ('embedded' | 'propertyNames' | 'search' | 'searchEmbedded' | 'hidden' | 'uniques')
  | ('softDelete' | 'restorableDays' | 'isSmall' | 'table' | 'links')

/**
 * Declares a resource. What is left out: no embedded records, no search, table named like the resource, deleted records
 * stay for 30 days.
 */
export function defineResource<F extends Fields>(
  declaration: Omit<Resource<F>, Defaults> & Partial<Pick<Resource<F>, Defaults>>,
): Resource<F> {
  const embedded = declaration.embedded ?? {}
  const propertyNames = Object.keys(declaration.fields).flatMap((name) => [
    name,
    ...Object.keys(embedded).filter((other) => embedded[other]?.through === name),
  ])
  return {
    table: declaration.name,
    embedded,
    propertyNames,
    search: [],
    searchEmbedded: [],
    hidden: {},
    uniques: {},
    softDelete: true,
    restorableDays: 30,
    isSmall: false,
    links: {},
    ...declaration,
  }
}

type ValueOf<T> = T extends Field<infer Value> ? Value : never

/** The record as callers read it. */
export type Row<R extends Resource> = { [Name in keyof R['fields']]: ValueOf<R['fields'][Name]> }

/** Some of the fields of a record: those that a caller sent, or all of one that is there. */
export type Values<F extends Fields> = { [Name in keyof F]?: ValueOf<F[Name]> }

type WritableKeys<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Field<unknown, true> ? Name : never
}[keyof F]
type RequiredKeys<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Field<unknown, true, true> ? Name : never
}[keyof F]

/** The body that creates a record. */
export type Create<R extends { fields: Fields }> = {
  [Name in RequiredKeys<R['fields']>]: ValueOf<R['fields'][Name]>
} & {
  [Name in WritableKeys<R['fields']>]?: ValueOf<R['fields'][Name]>
}

/** The body that changes a record: any of the writable fields. */
export type Update<R extends { fields: Fields }> = { [Name in WritableKeys<R['fields']>]?: ValueOf<R['fields'][Name]> }

/** A noun of a declaration as people write it: `API key`. */
export const displayNoun = (noun: string): string =>
  noun.replace(/\b(?:api|sso)\b/g, (name) => name.toUpperCase()).replaceAll('-', ' ')

/** The column of a field: its name in snake case. */
export function columnOf(fieldName: string): string {
  const known = columns.get(fieldName)
  if (known !== undefined) return known
  const column = fieldName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  columns.set(fieldName, column)
  return column
}

/** Asked for with each field of each record that is written; the fields are those of the declarations. */
const columns = new Map<string, string>()

/** What a new record holds where nobody says anything: the fields that can be written, and those that begin with a value. */
export function initialValues(resource: Resource): Readonly<JsonObject> {
  const known = initials.get(resource)
  if (known) return known
  const entries = Object.entries(resource.fields).flatMap(([name, field]) =>
    field.writable || field.initial !== undefined ? [[name, field.initial ?? null] as const] : [],
  )
  const initial = Object.freeze(Object.fromEntries(entries))
  initials.set(resource, initial)
  return initial
}

const initials = new WeakMap<Resource, Readonly<JsonObject>>()

/** The same records with fewer fields and under another parent: the team-scoped family (interface 4.9). */
export function narrowView<F extends Fields>(
  resource: Resource<F>,
  view: { component: string; propertyNames: readonly string[]; writable: readonly string[]; parent: Parent },
): Resource {
  const fields = Object.fromEntries(
    Object.entries(resource.fields).map(([name, field]) => [
      name,
      { ...field, writable: field.writable && view.writable.includes(name) },
    ]),
  )
  const { component, propertyNames, parent } = view
  const { renderingVersion: _, ...rest } = resource
  return { ...rest, fields, component, propertyNames, parent, viewOf: resource }
}

/** The parents that a record can have: of each record it is one. */
export const parentsOf = ({ parent, parents }: Resource): readonly Parent[] => parents ?? (parent ? [parent] : [])

/** A collection across all parents: the same records, as long as their parents are there. */
export function listedAcrossParents<F extends Fields>(resource: Resource<F>): Resource<F> {
  const { parent: _, ...same } = resource
  const requiredParents = parentsOf(resource)
  return requiredParents.length > 0 ? { ...same, requiredParents } : same
}

/** The records that live in one kind of parent, where there are several kinds. */
export function underParent<F extends Fields>(resource: Resource<F>, parameter: string): Resource<F> {
  const parent = resource.parents?.find((one) => one.parameter === parameter)
  if (!parent) throw new Error(`${resource.name} have no parent ${parameter}`)
  return { ...resource, parent }
}

/** The same records whatever their parent: for work that is not about one parent's alone. */
export function withoutParent<F extends Fields>(resource: Resource<F>): Resource<F> {
  const same = { ...resource }
  delete same.parent
  return same
}

/** Every column that the standard write may set, with its type. */
export function columnTypes(resource: Resource): Record<string, string> {
  const stored = Object.entries(resource.fields).filter(([, field]) => field.computed === undefined)
  const fields = stored.map(([name, field]) => [columnOf(name), field.databaseType])
  const parents = parentsOf(resource).map(({ column }) => [column, 'uuid'])
  return { ...Object.fromEntries([...parents, ...fields]), ...resource.hidden }
}
