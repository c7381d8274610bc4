import type { Field, FilterType } from '../declare/field.ts'

export type Operator =
  | 'equals'
  | 'equalsIgnoreCase'
  | 'not'
  | 'contains'
  | 'startsWith'
  | 'endsWith'
  | 'in'
  | 'notIn'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'has'
  | 'hasEvery'
  | 'hasSome'
  | 'isEmpty'

const text = ['equals', 'not', 'contains', 'startsWith', 'endsWith', 'in', 'notIn'] as const
const comparison = ['gt', 'gte', 'lt', 'lte'] as const
const list = ['has', 'hasEvery', 'hasSome', 'isEmpty'] as const

/** The operators of each type. A custom property without a definition supports all of them. */
export const operatorsOf: Record<FilterType, readonly Operator[]> = {
  id: text,
  string: text,
  number: ['equals', 'not', ...comparison, 'in'],
  // `not` for dates only supports `null` (decisions.md, Lists).
  date: ['equals', 'not', ...comparison],
  array: list,
  boolean: ['equals', 'not'],
  properties: [...text, ...comparison, ...list],
  none: [],
}

/** The operators of a field: those of its type and, for an address, the comparison of its unique key. */
export const operatorsFor = ({ filter, lookup }: Field): readonly Operator[] =>
  lookup ? [...operatorsOf[filter], 'equalsIgnoreCase'] : operatorsOf[filter]

export const allOperators: readonly Operator[] = [...operatorsOf.properties, 'equalsIgnoreCase']

export const isOperator = (text: string): text is Operator => (allOperators as readonly string[]).includes(text)

/** Is the value a list, separated by commas? */
export const takesList = (operator: Operator): boolean => ['in', 'notIn', 'hasEvery', 'hasSome'].includes(operator)
