import type { FieldSchema } from '../api/schema.ts'

/** A displayable, editable or filterable value of a record: a field, an embedded record or a custom property. */
export interface Property {
  /** The name of a field or an embedded record, or `customProperties.<key>`. */
  name: string
  label: string
  type: FieldSchema['type'] | 'embedded' | 'any'
  /** The field that a change writes; undefined if read-only. */
  field: FieldSchema | undefined
  operators: readonly string[]
  /** The names for filtering and for sorting. Amounts of money are compared by number. */
  filterBy: string
  orderBy: string | undefined
  isReadOnly: boolean
  choices: readonly string[] | null
  /** The organization's labels of choices; undefined for built-in fields. */
  choiceLabels: Readonly<Record<string, string>> | undefined
  /** A number that is a year: 1986, not 1,986. */
  isYear: boolean
  /** The field with the currency of an amount. */
  currencyField: string | undefined
  /** The resource that an embedded record or a reference belongs to. */
  resource: string | undefined
}
