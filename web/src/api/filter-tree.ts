import type { ResourceSchema } from './schema.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** A node of a search's filter tree (docs/guides/search.md): all of its properties must match. */
export type FilterNode = Readonly<Record<string, Json>>

/** A condition as in a URL, where every value is text. */
export interface Filter {
  /** A field or a dotted path, such as `customProperties.plan`. */
  field: string
  operator: string
  value: string
}

/** One condition of a tree: a field, or related records with `some` or `none`. */
export interface Condition {
  name: string
  operator: string
  operand: Json
}

export const isNode = (value: Json | undefined): value is FilterNode =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Splits a node into parts that must all match. Each has one property, and a single operator if that is a field. */
export function partsOf(node: FilterNode): FilterNode[] {
  return Object.entries(node).flatMap(([name, value]): FilterNode[] => {
    if (name === 'and' && Array.isArray(value) && value.every(isNode)) return value.flatMap(partsOf)
    const isField = name !== 'and' && name !== 'or' && name !== 'not'
    if (!isField || !isNode(value) || Object.keys(value).length === 0) return [{ [name]: value }]
    return Object.entries(value).map(([operator, operand]) => ({ [name]: { [operator]: operand } }))
  })
}

/** A node that matches if all parts match; without `and` if possible, because the depth of a tree is limited. */
export function joined(parts: readonly FilterNode[]): FilterNode {
  const names = parts.flatMap((part) => Object.keys(part))
  return new Set(names).size === names.length ? Object.assign({}, ...parts) : { and: parts }
}

/** The condition of a part; undefined for `and`, `or` and `not`. */
export function conditionOf(part: FilterNode): Condition | undefined {
  const [[name = '', operators] = [], ...others] = Object.entries(part)
  if (others.length > 0 || !isNode(operators)) return undefined
  const [[operator, operand] = [], ...more] = Object.entries(operators)
  if (operator === undefined || operand === undefined || more.length > 0 || name === 'not') return undefined
  return { name, operator, operand }
}

const listOperators: ReadonlySet<string> = new Set(['in', 'notIn', 'hasEvery', 'hasSome'])

/** Does this operator take several values, separated by commas? */
export const takesList = (operator: string): boolean => listOperators.has(operator)

/** The condition in its URL form; undefined if a URL cannot express it. */
export function filterOf({ name, operator, operand }: Condition): Filter | undefined {
  const value = takesList(operator) ? textOfOperands(operand) : textOfScalar(operator, operand)
  return value === undefined || value === '' ? undefined : { field: name, operator, value }
}

function textOfScalar(operator: string, operand: Json): string | undefined {
  if (operand === null) return isExact(operator) ? 'null' : undefined
  // A URL cannot express the text "null".
  if (typeof operand === 'object' || (operand === 'null' && isExact(operator))) return undefined
  return String(operand)
}

function textOfOperands(operand: Json): string | undefined {
  if (!Array.isArray(operand) || operand.some((item) => typeof item === 'object' || item === '')) return undefined
  return textOfList(operand.map(String))
}

/** Joins values to a list for a URL. */
export const textOfList = (items: readonly string[]): string =>
  items.map((item) => item.replaceAll(/[\\,]/g, String.raw`\$&`)).join(',')

/** Splits a list from a URL; a backslash escapes a comma. */
export const listOf = (text: string): string[] =>
  [...text.matchAll(/(?:\\[\\,]|[^,])+/g)].map(([item]) => item.replaceAll(/\\([\\,])/g, '$1'))

const isExact = (operator: string): boolean => operator === 'equals' || operator === 'not'

/** Converts a condition from a URL to a part of a tree, with values of the field's type. */
export function partOf(resource: ResourceSchema, { field, operator, value }: Filter): FilterNode {
  return { [field]: { [operator]: operandOf(resource, field, operator, value) } }
}

function operandOf(resource: ResourceSchema, field: string, operator: string, text: string): Json {
  if (takesList(operator)) return listOf(text)
  if (text === 'null' && isExact(operator)) return null
  const type = typeOf(resource, field)
  const isFlag = operator === 'isEmpty' || type === 'boolean' || (type === undefined && isExact(operator))
  // Numbers and dates can be text in a tree too.
  return isFlag && (text === 'true' || text === 'false') ? text === 'true' : text
}

/**
 * Custom properties without a definition compare texts with values of any type; the types of linked values are unknown.
 */
function typeOf({ fields, embedded }: ResourceSchema, path: string): string | undefined {
  const [head, ...rest] = path.split('.')
  const own = fields.find(({ name }) => name === path)
  if (own || head === 'customProperties') return own?.type ?? 'properties'
  const inner = embedded.find(({ name }) => name === head)
  return inner?.fields.find(({ name }) => name === rest.join('.'))?.type
}
