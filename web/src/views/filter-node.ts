import { type FilterNode, isNode, joined, type Json, partOf } from '../api/filter-tree.ts'
import type { ResourceSchema } from '../api/schema.ts'
import {
  type ConditionDraft,
  countedOf,
  type Draft,
  type FindResource,
  relatedName,
  relativeNames,
  relativeOperators,
} from './filter-draft.ts'

export const periods = [
  ...(['yesterday', 'today', 'tomorrow'] as const),
  ...(['lastWeek', 'thisWeek', 'nextWeek', 'lastMonth', 'thisMonth', 'nextMonth'] as const),
  ...(['lastQuarter', 'thisQuarter', 'nextQuarter', 'lastYear', 'thisYear', 'nextYear'] as const),
] as const

/** Is the draft complete? */
export function isComplete(draft: Draft): boolean {
  if (draft.kind === 'group') return draft.rows.length > 0 && draft.rows.every(isComplete)
  if (draft.kind === 'relation') return draft.conditions.every(isComplete)
  if (draft.operator === 'period' || !relativeNames.includes(draft.operator)) return draft.value.trim() !== ''
  const count = Number(countedOf(draft.value).count)
  return Number.isInteger(count) && count >= 1 && count <= 1000
}

/** The part of a filter tree for a draft. */
export function nodeOf(draft: Draft, resource: ResourceSchema, find: FindResource): FilterNode {
  if (draft.kind === 'condition') return conditionNode(draft, resource)
  if (draft.kind === 'group') {
    const parts = draft.rows.map((row) => nodeOf(row, resource, find))
    if (draft.match === 'and') return joined(parts)
    if (draft.match === 'notAll') return { not: joined(parts) }
    const either = { or: parts }
    if (draft.match === 'or') return either
    return { not: parts.length === 1 ? (parts[0] ?? either) : either }
  }
  const related = find(relatedName(resource, draft.relation)) ?? resource
  const parts = draft.conditions.map((condition) => conditionNode(condition, related))
  const inner = draft.match === 'or' && parts.length > 1 ? { or: parts } : joined(parts)
  return { [draft.relation]: { [draft.quantifier]: inner } }
}

/** The maximum nesting of `and`, `or`, `not`, `some` and `none` in the API. */
const maxDepth = 5

/** Would the API refuse a part, together with the others, because of its depth? */
export const isTooDeep = (part: FilterNode): boolean => depthOf(part) >= maxDepth

function depthOf(value: Json): number {
  if (Array.isArray(value)) return Math.max(0, ...value.map(depthOf))
  if (!isNode(value)) return 0
  const levels: readonly string[] = ['and', 'or', 'not', 'some', 'none']
  return Math.max(0, ...Object.entries(value).map(([name, inner]) => Number(levels.includes(name)) + depthOf(inner)))
}

function conditionNode({ field, operator, value }: ConditionDraft, resource: ResourceSchema): FilterNode {
  const trimmed = value.trim()
  const [comparison, kind] = relativeOperators[operator] ?? []
  if (comparison === undefined || kind === undefined) {
    return partOf(resource, { field, operator, value: trimmed })
  }
  const { count, unit } = countedOf(trimmed)
  return { [field]: { [comparison]: { [kind]: kind === 'period' ? trimmed : { [unit]: Number(count) } } } }
}
