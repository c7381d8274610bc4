import type { Reader } from '../../model/caller.ts'
import type { BodyError } from '../../model/errors.ts'
import type { RoleGroup } from '../../model/scopes.ts'
import type { Sql } from '../../model/sql.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'
import type { EventKind } from './event-kinds.ts'
import type { Field } from './field.ts'

export type Fields = Record<string, Field>

/** Fields of a referenced record, embedded in the referencing one; null while the referenced record is deleted. */
export interface Embedded {
  label: string
  through: string
  resource: Resource
  show: readonly string[]
  /** The embedded record's field by which a list is sorted. */
  orderBy: string
  /** The referenced record exists as long as this one, such as the user behind a member. */
  always?: true
}

/** A resource nested in another (`/contacts/{contactId}/employments`) or seen through it (a team's contacts). */
export interface Parent {
  /** The path parameter of the parent's id. */
  parameter: string
  resource: Resource
  column: string
  /** True if a parent has so few of them that reading all is cheap. */
  isSmall: boolean
}

/** A many-to-many relationship: the records at the other end, through a table of links with their own fields. */
export interface Link {
  label: string
  /** The resource at the other end. */
  resource: Resource
  /** The fields of the linked record that a link shows. */
  show: readonly string[]
  /** The linked record's field by which links are sorted. */
  orderBy: string
  /** Singular noun, component and id prefix of the links. */
  singular: string
  component: string
  idPrefix: string
  heading?: string
  fields: Fields
}

export interface Connected {
  resource: Resource
  column: string
  name: string
}

export interface RecordLimit {
  max: number
  /** The SQL condition of the records that count. */
  counted: string
  /** Locks what serializes those who add a record to an organization. */
  lock: (organization: Sql) => Sql
}

export interface FurtherText {
  call: string
  /** Most records have none of them. */
  of: readonly string[]
}

export interface UniqueIndex {
  field: string
  columns: readonly string[]
  /** True if case and accents are ignored. */
  folded?: boolean
  /** Another table whose records can have the value in columns of the same names, and its column with their ids. */
  alsoIn?: { table: string; owner: string }
}

export interface Prepared {
  values: JsonObject
  /** Columns that callers never see, such as a folded address. */
  hidden?: Record<string, JsonValue>
  errors?: BodyError[]
}

/** The declaration of a resource, from which everything else is derived (docs/architecture.md). */
export interface Resource<F extends Fields = Fields> {
  /** Plural noun: URL segment, table and folder. */
  name: string
  /** Singular noun: scopes and messages. */
  singular: string
  component: string
  table: string
  /** True if its tables belong to the directory of people and credentials, otherwise to the organization (`places.ts`). */
  isInDirectory?: true
  idPrefix: string
  /** The documentation heading; without it the routes appear under another resource's. */
  heading?: string
  /** What the roles below an administrator may do with it. */
  roleGroup: RoleGroup
  /** Restricts the records that a person sees and changes; without it, their scopes alone decide. */
  reach?: Reach
  /** True if people can save views of its lists, which `?view=` applies. */
  hasViews: boolean
  /** The standard changes that the audit log records, with a sentence each; other changes are not recorded. */
  audited?: Partial<Record<AuditedChange, string>>
  /** The path of the value by which a person recognizes a record; by default its `name`, otherwise its id. */
  titleField: string
  /** The paths of the values that say most about a record, next to its title. */
  subtitleFields: readonly string[]
  /** The field with the state of a record; by default its `status`. */
  statusField: string | null
  /** The instant by which something must be done, and the flag that says that it has passed without that. */
  due: { field: string; overdueField: string } | null
  /** In the order of responses. */
  fields: F
  embedded: Record<string, Embedded>
  /** What the body of a change can say besides fields. `prepare` gets it with the values, and removes it from them. */
  updateOptions?: Fields
  /** The properties of a response, fields and embedded records, in order. */
  propertyNames: readonly string[]
  /** The fields that `query` searches, for the documentation; the search column must contain the same. */
  search: readonly string[]
  /** Embedded fields that `query` searches too, such as `company.name`. */
  searchEmbedded: readonly string[]
  /** Text of these fields that `query` searches too but the search column lacks: the result of an SQL function. */
  searchFurther?: FurtherText
  /** `query` compares words with the beginnings of these keys: an index of texts costs more with every write. */
  searchKey?: { column: string; key: (word: string) => string }
  /**
   * The paths that `query` searches in a resource without a search column: their text is composed whenever it is read.
   * By default, all own fields that contain text.
   */
  searchedWhenRead: readonly string[]
  /** Hidden columns that `prepare` sets, with their types. */
  hidden: Record<string, string>
  uniques: Record<string, UniqueIndex>
  /**
   * Version of the stored rendering (decision 10): increment it with each change that changes the text, as the check
   * demands. Worth its space if pages are read often.
   */
  renderingVersion?: number
  parent?: Parent
  /** The possible kinds of parents, if there are several; every record has exactly one. `underParent` chooses one. */
  parents?: readonly Parent[]
  /** Parents that no path contains: a record whose parent is deleted does not exist either. */
  requiredParents?: readonly Pick<Parent, 'resource' | 'column'>[]
  /** Many-to-many relationships, by the name that filters use. */
  links: Record<string, Link>
  /** Each record names one of both kinds: filters of one kind test the other one's records, by `name`. */
  connects?: readonly [Connected, Connected]
  /** Its changes are stored as long as a history, in which these fields do not appear; those of others, as long as the feed. */
  history?: { except: readonly string[] }
  /** False if the feed leaves its changes out; it has those of every other resource outside of the directory. */
  feed?: false
  /** The kinds of events that `eventKind` returns. */
  ownEventKinds?: readonly EventKind[]
  /** What an update did, if it has a name of its own. */
  eventKind?(change: UpdatedRecord): EventKind | undefined
  /** The full resource of which this is a view. Rules between fields apply to the whole record. */
  viewOf?: Resource
  /** Deleted records can be restored for `restorableDays` and are then purged. False: DELETE is final. */
  softDelete: boolean
  restorableDays: number
  /** True if it is about a person who can be erased, with all that belongs to them. */
  isErasable?: true
  /** True if deleted records can be listed and restored over the API; by default if `softDelete` is true. */
  isRestorable: boolean
  /** True if its table is a view of several tables, in some of which columns are constant. */
  isUnion?: boolean
  /** True if an organization has so few of them that reading all is cheap; they then need no indexes. */
  isSmall: boolean
  /** How many records an organization, or a parent in the path, can have. */
  limit?: RecordLimit
  /** Rules that a declaration cannot express; must be pure. `current` is undefined for a new record. */
  prepare?(values: Values<NoInfer<F>>, current: Values<NoInfer<F>> | undefined): Prepared
}

export const auditedChanges = { create: 'created', update: 'updated', delete: 'deleted', restore: 'restored' } as const
export type AuditedChange = keyof typeof auditedChanges
export type StandardAction = `${string}.${(typeof auditedChanges)[AuditedChange]}`

export const actionOf = ({ singular, audited = {} }: Resource, change: AuditedChange): StandardAction | undefined =>
  audited[change] === undefined ? undefined : `${singular}.${auditedChanges[change]}`

type Defaults =
  | ('embedded' | 'propertyNames' | 'search' | 'searchEmbedded' | 'searchedWhenRead' | 'hidden' | 'uniques')
  | ('softDelete' | 'restorableDays' | 'isRestorable' | 'isSmall' | 'table' | 'links' | 'hasViews')
  | ('titleField' | 'subtitleFields' | 'statusField' | 'due')

/** Declares a resource. Defaults: nothing embedded, no search column, a table of the same name, 30 days to restore. */
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
    titleField: 'name' in declaration.fields ? 'name' : 'id',
    subtitleFields: [],
    statusField: 'status' in declaration.fields ? 'status' : null,
    due: null,
    embedded,
    propertyNames,
    search: [],
    searchEmbedded: [],
    searchedWhenRead: declaration.search === undefined ? textFields(declaration.fields) : [],
    hidden: {},
    uniques: {},
    softDelete: true,
    restorableDays: 30,
    isRestorable: declaration.softDelete ?? true,
    isSmall: false,
    hasViews: false,
    links: {},
    ...declaration,
  }
}

/** The stored fields that contain text or a list of texts. */
const textFields = (fields: Fields): string[] =>
  Object.entries(fields).flatMap(([name, { filter, computed }]) =>
    computed === undefined && (filter === 'string' || filter === 'array') ? [name] : [],
  )

/** Everything that `query` searches, as paths. */
export const searchedPaths = ({ search, searchEmbedded, searchedWhenRead }: Resource): readonly string[] => [
  ...search,
  ...searchEmbedded,
  ...searchedWhenRead,
]

type ValueOf<T> = T extends Field<infer Value> ? Value : never

export type Row<R extends Resource> = { [Name in keyof R['fields']]: ValueOf<R['fields'][Name]> }

/** Some fields of a record: those that a caller sent, or all fields of an existing one. */
export type Values<F extends Fields> = { [Name in keyof F]?: ValueOf<F[Name]> }

type WritableKeys<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Field<unknown, true> ? Name : never
}[keyof F]
type RequiredKeys<F extends Fields> = {
  [Name in keyof F]: F[Name] extends Field<unknown, true, true> ? Name : never
}[keyof F]

export type Create<R extends { fields: Fields }> = {
  [Name in RequiredKeys<R['fields']>]: ValueOf<R['fields'][Name]>
} & {
  [Name in WritableKeys<R['fields']>]?: ValueOf<R['fields'][Name]>
}

export type Update<R extends { fields: Fields }> = { [Name in WritableKeys<R['fields']>]?: ValueOf<R['fields'][Name]> }

/** A declaration's noun as people write it: `API key`. */
export const displayNoun = (noun: string): string =>
  noun.replace(/\b(?:api|sso)\b/g, (name) => name.toUpperCase()).replaceAll('-', ' ')

/** `audit-event` becomes `auditEvent`. */
export const camelCase = (noun: string): string =>
  noun.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

export function columnOf(fieldName: string): string {
  const known = columns.get(fieldName)
  if (known !== undefined) return known
  const column = fieldName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  columns.set(fieldName, column)
  return column
}

/** Cached, because it is needed for each field of each written record; the names come from the declarations only. */
const columns = new Map<string, string>()

/** The values of a new record if none are sent: for writable fields and for those with an initial value. */
export function initialValues(resource: Resource): Readonly<JsonObject> {
  const known = initials.get(resource)
  if (known) return known
  const entries = Object.entries(resource.fields).flatMap(([name, field]) =>
    // A list of addresses follows the field with the primary one: null if none is sent.
    field.writable || field.initial !== undefined ? [[name, field.list ? null : (field.initial ?? null)] as const] : [],
  )
  const initial = Object.freeze(Object.fromEntries(entries))
  initials.set(resource, initial)
  return initial
}

const initials = new WeakMap<Resource, Readonly<JsonObject>>()

/** The same records with fewer fields and under another parent: the team-scoped family. */
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
  const { renderingVersion: _, updateOptions: __, ...rest } = resource
  return { ...rest, fields, component, propertyNames, parent, viewOf: resource, isRestorable: false, hasViews: false }
}

/** Is the parent stored in the other place (`places.ts`)? Then each of the two has its own statement. */
export const isElsewhere = (parent: Parent, resource: Resource): boolean =>
  parent.resource.isInDirectory !== resource.isInDirectory

/** The possible parents of a record; it has exactly one of them. */
export const parentsOf = ({ parent, parents }: Resource): readonly Parent[] => parents ?? (parent ? [parent] : [])

/** A collection across all parents: the same records, as long as their parents exist. */
export function listedAcrossParents<F extends Fields>(resource: Resource<F>): Resource<F> {
  const { parent: _, ...same } = resource
  const requiredParents = parentsOf(resource)
  return requiredParents.length > 0 ? { ...same, requiredParents } : same
}

/** The records in one kind of parent, if there are several kinds. */
export function underParent<F extends Fields>(resource: Resource<F>, parameter: string): Resource<F> {
  const parent = resource.parents?.find((one) => one.parameter === parameter)
  if (!parent) throw new Error(`${resource.name} have no parent ${parameter}`)
  return { ...resource, parent }
}

/** The same records regardless of their parent: for work that spans several parents. */
export function withoutParent<F extends Fields>(resource: Resource<F>): Resource<F> {
  const same = { ...resource }
  delete same.parent
  return same
}

/** Every column that the standard write can set, with its type. */
export function columnTypes(resource: Resource): Record<string, string> {
  const stored = Object.entries(resource.fields).filter(([, field]) => field.computed === undefined)
  const fields = stored.map(([name, field]) => [columnOf(name), field.databaseType])
  const parents = parentsOf(resource).map(({ column }) => [column, 'uuid'])
  return { ...Object.fromEntries([...parents, ...fields]), ...resource.hidden }
}

/** Are its changes part of the feed? */
export const isInFeed = ({ feed, isInDirectory }: Resource): boolean => feed !== false && !isInDirectory

/** An update: the record before, the changed fields and the columns that the service sets. */
export interface UpdatedRecord {
  before: JsonObject
  values: JsonObject
  columns: Readonly<Record<string, JsonValue>>
}

/** Which records of a resource an actor sees and changes. For everyone else a record does not exist: 404. */
export interface Reach {
  /** The field with the person whose own record it is: the owner or the assignee. Roles can restrict such resources. */
  ownerField?: string
  /** The field with the record's team. Without one, a record belongs to the teams of its owner. */
  teamField?: string
  /** Other records that it names: it is within reach only if they are. */
  follows?: readonly Followed[]
  /**
   * A boolean for the record in the table `record`; undefined if the actor sees all of them. Only the kind of the actor
   * may change its text, because prepared statements have one text for each kind.
   */
  sees?(actor: Reader, record: Sql): Sql | undefined
  /** May the actor change a record that they see? Otherwise 403. */
  mayChange?(actor: Reader, record: JsonObject): boolean
}

/** A record that another one names in a column. */
export interface Followed {
  resource: Resource
  column: string
  /** True if a record without a value is not seen either. */
  isRequired?: true
  /** Only records with this value in this column name it. */
  when?: { column: string; equals: string }
}

/** The reach of records that belong to a person, and maybe to a team. */
export const ownedBy = (ownerField: string, teamField?: string): Reach => ({
  ownerField,
  ...(teamField !== undefined && { teamField }),
})
