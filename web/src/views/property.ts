import type { FieldSchema } from '../api/schema.ts'

/** A value of a record that can be shown, edited or filtered: a field, an embedded record or a custom property. */
export interface Property {
  /** A field's name, an embedded record's, or `customProperties.<key>`. */
  name: string
  label: string
  type: FieldSchema['type'] | 'embedded' | 'any'
  /** The field that a change writes; undefined if it cannot be changed. */
  field: FieldSchema | undefined
  operators: readonly string[]
  /** The field or path that filters name, and the one that sorts by it. An amount of money is compared by its number. */
  filterBy: string
  orderBy: string | undefined
  isReadOnly: boolean
  choices: readonly string[] | null
  /** What the organization calls its choices; undefined for those of the product. */
  choiceLabels: Readonly<Record<string, string>> | undefined
  /** A number that is a year: 1986, not 1,986. */
  isYear: boolean
  /** The field with the currency of an amount. */
  currencyField: string | undefined
  /** The resource that an embedded record or a reference belongs to. */
  resource: string | undefined
}
