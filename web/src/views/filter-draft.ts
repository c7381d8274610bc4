import { conditionOf, type Filter, filterOf, type FilterNode, isNode, type Json, partsOf } from '../api/filter-tree.ts'
import type { ResourceSchema } from '../api/schema.ts'

/** How the rows of a group are combined. */
export const matches = ['and', 'or', 'none', 'notAll'] as const
export type Match = (typeof matches)[number]

/** A condition as the form edits it; operators for relative dates differ from the API's. */
export interface ConditionDraft extends Filter {
  kind: 'condition'
}

/** Related records: at least one, or none, that match the conditions. */
export interface RelationDraft {
  kind: 'relation'
  relation: string
  quantifier: 'some' | 'none'
  match: 'and' | 'or'
  conditions: readonly ConditionDraft[]
}

/** Groups can contain groups, one level deep. */
export interface GroupDraft {
  kind: 'group'
  match: Match
  rows: readonly Draft[]
}

export type Draft = ConditionDraft | RelationDraft | GroupDraft

/** Finds the resource of related records. */
export type FindResource = (name: string) => ResourceSchema | undefined

/** Relative dates by the form's operator: the API's operator, and the kind of date. */
export const relativeOperators: Readonly<Record<string, readonly [operator: string, kind: string]>> = {
  last: ['equals', 'last'],
  next: ['equals', 'next'],
  period: ['equals', 'period'],
  beforeLast: ['lt', 'last'],
  afterNext: ['gt', 'next'],
}
export const relativeNames: readonly string[] = Object.keys(relativeOperators)

export const units = ['days', 'weeks', 'months', 'quarters', 'years'] as const

/** Splits `30 days` into its two parts. */
export function countedOf(value: string): { count: string; unit: (typeof units)[number] } {
  const [count = '', unit] = value.split(' ')
  return { count, unit: units.find((one) => one === unit) ?? 'days' }
}

export const relatedName = ({ relations }: ResourceSchema, relation: string): string =>
  relations.find(({ name }) => name === relation)?.resource ?? ''

/** The draft for a part of a tree; undefined if the form cannot edit it. */
export function draftOf(part: FilterNode, resource: ResourceSchema): Draft | undefined {
  const related = relationDraft(part, resource)
  return related ?? conditionDraft(part) ?? groupDraft(part, resource)
}

/** A condition whose value is a relative date or can be written in a URL. */
export function conditionDraft(part: FilterNode): ConditionDraft | undefined {
  const condition = conditionOf(part)
  if (!condition) return undefined
  const { name: field, operator, operand } = condition
  const relative = isNode(operand) ? relativeDraft(operator, operand) : undefined
  const filter = relative ? { field, ...relative } : filterOf(condition)
  return filter && { kind: 'condition', ...filter }
}

function relativeDraft(comparison: string, date: FilterNode): Pick<Filter, 'operator' | 'value'> | undefined {
  const [[kind = '', given] = [], ...others] = Object.entries(date)
  const found = Object.entries(relativeOperators).find(([, [api, one]]) => api === comparison && one === kind)
  if (!found || others.length > 0) return undefined
  const [operator] = found
  if (kind === 'period') return typeof given === 'string' ? { operator, value: given } : undefined
  const [[unit = '', count] = [], ...more] = isNode(given) ? Object.entries(given) : []
  return more.length === 0 && typeof count === 'number' ? { operator, value: `${count} ${unit}` } : undefined
}

function relationDraft(part: FilterNode, resource: ResourceSchema): RelationDraft | undefined {
  const { name = '', operator, operand } = conditionOf(part) ?? {}
  const isKnown = resource.relations.some((relation) => relation.name === name)
  if (!isKnown || (operator !== 'some' && operator !== 'none') || !isNode(operand)) return undefined
  const [only, ...others] = partsOf(operand)
  const isEither = only !== undefined && others.length === 0 && Array.isArray(only.or)
  const parts = isEither ? itemsOf(only.or) : partsOf(operand)
  const conditions = parts?.map(conditionDraft)
  if (!conditions?.every((condition) => condition !== undefined)) return undefined
  return { kind: 'relation', relation: name, quantifier: operator, match: isEither ? 'or' : 'and', conditions }
}

/** The items of an `and` or `or`, if each is a single part. */
function itemsOf(value: Json | undefined): FilterNode[] | undefined {
  if (!Array.isArray(value) || !value.every(isNode)) return undefined
  const parts = value.map(partsOf)
  return parts.every(({ length }) => length === 1) ? parts.flat() : undefined
}

function groupDraft(part: FilterNode, resource: ResourceSchema, isInner = false): GroupDraft | undefined {
  const group = rowsOf(part)
  const rows = group?.nodes.map((node): Draft | undefined => {
    const [only, ...others] = partsOf(node)
    const row = only && others.length === 0 ? (relationDraft(only, resource) ?? conditionDraft(only)) : undefined
    return row ?? (isInner ? undefined : groupDraft(node, resource, true))
  })
  if (!group || !rows || rows.length === 0 || !rows.every((row) => row !== undefined)) return undefined
  return { kind: 'group', match: group.match, rows }
}

/** What a node combines, and how. */
function rowsOf(node: FilterNode): { match: Match; nodes: readonly FilterNode[] } | undefined {
  const [only, ...others] = partsOf(node)
  if (!only) return undefined
  if (others.length > 0) return { match: 'and', nodes: [only, ...others] }
  if (Array.isArray(only.or) && only.or.every(isNode)) return { match: 'or', nodes: only.or }
  if (!isNode(only.not)) return undefined
  const inner = partsOf(only.not)
  const [first] = inner
  if (inner.length > 1) return { match: 'notAll', nodes: inner }
  if (first && Array.isArray(first.or) && first.or.every(isNode)) return { match: 'none', nodes: first.or }
  return first && { match: 'none', nodes: [first] }
}
