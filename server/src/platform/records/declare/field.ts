import type { Reader } from '../../model/caller.ts'
import type { FieldType } from './field-types.ts'
import type { JsonValue, Schema } from '../../model/json.ts'
import type { Normalize } from '../../model/normalizers.ts'
import type { Sql } from '../../model/sql.ts'

/** How a field is compared; decides its filter operators and its order. */
export type FilterType = 'id' | 'string' | 'number' | 'date' | 'array' | 'boolean' | 'properties' | 'none'

/** What filtering or sorting by a field costs: an index serves it, or all records of the organization are scanned. */
export type AccessCost = 'indexed' | 'scan'

/**
 * The SQL that computes a value from the columns of the record with this alias and its organization. `reader` is given
 * for a person who does not see all records, and for nobody else.
 */
export type Computation = (record: Sql, organization: Sql, reader?: Reader) => Sql

export interface Field<out Value = unknown, Writable extends boolean = boolean, Required extends boolean = boolean> {
  label: string
  description?: string
  type: FieldType
  filter: FilterType
  /** JSON Schema of a non-null value. */
  schema: Schema
  nullable: boolean
  required: Required
  /** False for server-generated fields: in a body they are rejected as read-only. */
  writable: Writable
  /** The column's type, as in a record definition. */
  databaseType: string
  /** Id prefix of the field's values. */
  idPrefix?: string
  /**
   * The table that a reference points to. The standard write checks that the record exists and is not deleted.
   * `cascades`: the record is purged with the one it refers to, as a link is with either end.
   */
  references?: { table: string; softDeleted: boolean; key: string; cascades?: true }
  /** True if the referenced record may be purged first. */
  hasNoForeignKey?: true
  /** Converts what a caller sent to what is stored; returns the error if it is invalid. */
  normalize?: Normalize
  /** Checks an object after a patch was merged into it; defaults to `normalize`. */
  checkMerged?: Normalize
  /** Stored in a canonical form; filter values are converted to it too. */
  isCanonical?: true
  /** Normalizes the keys of an object, if callers may write them in another form. */
  keyForm?: (key: string) => string
  /** An object for whose keys organizations can define properties. */
  definable?: true
  /** The definitions of an organization, in the declaration of a resource for one request. */
  declared?: PropertySet
  /** The value in a new record if none is sent. */
  initial?: JsonValue
  /** How applications write a number: a year has no thousands separator. */
  format?: 'year'
  order: AccessCost | 'none'
  equality: AccessCost
  /** The sort field of an index that finds the records with one value (for a list field: the records with any item). */
  indexedAlong?: string
  /** The values of a choice, if lists sort by their order here instead of by their letters. */
  ranks?: readonly string[]
  /** The search column contains this field, so its trigram index serves `contains`, `startsWith` and `endsWith`. */
  searched?: boolean
  /** The unique column and its key for a value: exact matches use its index, `equalsIgnoreCase` compares keys. */
  lookup?: { column: string; key: (value: string) => string }
  /** There is no column. */
  computed?: Computation
  /** The computed value is different for a person who does not see all records. */
  dependsOnReader?: true
  /**
   * A change never sets an earlier value: of two transactions, the one that began later can be the first to get the
   * record.
   */
  neverDecreases?: true
  list?: AddressList
  /** Carries the type only; never set at run time. */
  value?: Value
}

/** The column has only what the field with the primary address does not say, and is null if that is everything. */
export interface AddressList {
  /** The field with the primary address. */
  primary: string
  /** The name of the address in an entry, and its field. */
  item: string
  itemField: Field
  /** What makes two spellings one address; by default the address itself. */
  keyOf?: (address: string) => string
  /** The SQL function that returns the list as JSON text, from the columns of both fields. */
  sqlFunction: string
  /** Properties of an entry that only the service sets. */
  moreNames: readonly string[]
}

export type PropertyType = (typeof propertyTypes)[number]

export interface PropertyChoice {
  value: string
  label: string
  /** Records keep an archived choice, but none can newly get it. */
  archived: boolean
}

/** The index of a property. Each write maintains it; filters use it once it is ready. */
export interface PropertyIndex {
  /** Uuid. */
  id: string
  isReady: boolean
}

/** The definition of a custom property, as it is stored for the writes of its resource. */
export interface PropertyDefinition {
  /** Uuid. */
  id: string
  key: string
  type: PropertyType
  label: string
  description: string | null
  choices: readonly PropertyChoice[]
  /** The resource whose records a reference names, with the prefix of their ids. */
  references: { resource: string; idPrefix: string } | null
  required: boolean
  unique: boolean
  /** The value of a new record if none is sent; null for none. */
  default: JsonValue
  indexed: boolean
  index: PropertyIndex | null
  archived: boolean
  /** A decimal. */
  position: string
}

/** A custom property with a definition. Its values follow the rules of a field of the same type. */
export interface DeclaredProperty extends PropertyDefinition {
  field: Field
  /** The fields of an object, each with its name: those of an amount of money. */
  parts: Readonly<Record<string, Field>>
}

/** The definitions of a resource's custom properties in one organization. */
export interface PropertySet {
  /** Increases with each change of a definition or a setting. */
  revision: number
  refusesUndeclared: boolean
  properties: ReadonlyMap<string, DeclaredProperty>
}

/** The types that an organization can give its custom properties. */
export const propertyTypes = [
  'text',
  'number',
  'boolean',
  'date',
  'instant',
  'choice',
  'multiChoice',
  'url',
  'email',
  'phone',
  'money',
  'reference',
] as const
