import fc from 'fast-check'
import { matches, type ModelFilter, type ModelRecord, type ModelResource, typeOf } from './list-model.ts'
import type { JsonObject, JsonValue } from '../src/platform/model/json.ts'

/** A filter tree for the model and, through `bodyOf`, for the service. */
export type Tree =
  | ModelFilter
  | { and: readonly Tree[] }
  | { or: readonly Tree[] }
  | { not: Tree }
  | { relation: string; test: 'some' | 'none'; tree: Tree }

/** A resource with the records that are related to each of its records. */
export interface RelatedModel {
  resource: ModelResource
  relations: Readonly<Record<string, { model: RelatedModel; of: (record: ModelRecord) => readonly ModelRecord[] }>>
}

/** Trees of `leaves`, with at most `depth` levels of `and`, `or` and `not` around them. */
export const treesOf = (leaves: fc.Arbitrary<Tree>, depth?: number): fc.Arbitrary<Tree> =>
  fc.letrec<{ tree: Tree }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true, ...(depth !== undefined && { maxDepth: depth }) },
      leaves,
      fc.record({ and: fc.array(tie('tree'), { maxLength: 3 }) }),
      fc.record({ or: fc.array(tie('tree'), { maxLength: 3 }) }),
      fc.record({ not: tie('tree') }),
    ),
  })).tree

/** The levels of `and`, `or`, `not`, `some` and `none` around the innermost condition. */
export function levelsOf(tree: Tree): number {
  if ('field' in tree) return 0
  const inner = 'and' in tree ? tree.and : 'or' in tree ? tree.or : ['not' in tree ? tree.not : tree.tree]
  return 1 + Math.max(0, ...inner.map(levelsOf))
}

/** How often the tree uses a relation. */
export function relationsIn(tree: Tree): number {
  if ('field' in tree) return 0
  if ('relation' in tree) return 1 + relationsIn(tree.tree)
  const inner = 'and' in tree ? tree.and : 'or' in tree ? tree.or : [tree.not]
  return inner.reduce((sum, one) => sum + relationsIn(one), 0)
}

/** Evaluates a tree for a record in memory. */
export function matchesTree(model: RelatedModel, tree: Tree, record: ModelRecord): boolean {
  if ('field' in tree) return matches(model.resource, record, tree)
  if ('not' in tree) return !matchesTree(model, tree.not, record)
  if ('and' in tree) return tree.and.every((one) => matchesTree(model, one, record))
  if ('or' in tree) return tree.or.some((one) => matchesTree(model, one, record))
  const relation = model.relations[tree.relation]
  if (!relation) throw new Error(`the model has no relation ${tree.relation}`)
  const isMatch = relation.of(record).some((one) => matchesTree(relation.model, tree.tree, one))
  return tree.test === 'some' ? isMatch : !isMatch
}

/** The tree as the body of a search writes it. */
export function bodyOf(model: RelatedModel, tree: Tree): JsonObject {
  if ('not' in tree) return { not: bodyOf(model, tree.not) }
  if ('and' in tree) return { and: tree.and.map((one) => bodyOf(model, one)) }
  if ('or' in tree) return { or: tree.or.map((one) => bodyOf(model, one)) }
  if ('field' in tree) return { [tree.field]: { [tree.operator]: jsonOf(model.resource, tree) } }
  const { relation, test, tree: inner } = tree
  const related = model.relations[relation]?.model
  if (!related) throw new Error(`the model has no relation ${relation}`)
  return { [relation]: { [test]: bodyOf(related, inner) } }
}

/** The value of a filter, which the model writes as text, in its JSON type. */
function jsonOf(resource: ModelResource, { field, operator, value }: ModelFilter): JsonValue {
  if (typeof value !== 'string') return [...value]
  if (value === 'null' && ['equals', 'not'].includes(operator)) return null
  const isBoolean = operator === 'isEmpty' || typeOf(resource, field) === 'boolean'
  return isBoolean ? value === 'true' : value
}
