import type { Resource } from '../declare/define.ts'
import { maxDetails } from '../../model/errors.ts'
import type { Filter, RelatedFilter } from '../filter/filter.ts'
import { writtenInJson } from '../filter/operand.ts'
import { type QueryReader, parseCondition } from './parse.ts'
import type { Relations } from '../declare/relations.ts'
import { findTarget, root } from '../filter/target.ts'
import type { JsonObject, JsonValue } from '../../model/json.ts'

/** Maximum levels of `and`, `or`, `not`, `some` and `none` around a condition. */
export const maxDepth = 5
/** Maximum conditions of a tree, including `some`, `none` and empty nodes. */
export const maxLeaves = 100

/** Maximum `some` and `none`: the database takes 25 ms to plan ten, and seconds to plan fifty. */
export const maxRelations = 10

/** The position of a node: its resource and the alias of its records, its path in the body, and its depth. */
interface TreePosition {
  resource: Resource
  alias: string
  path: string
  depth: number
}

/** Reads the tree of a search, in which all properties of a node must match. Reports errors with dotted paths. */
export function parseTree(reader: QueryReader, resource: Resource, relations: Relations, tree: JsonValue): Filter {
  return new TreeReader(reader, relations).node(tree, { resource, alias: root, path: 'filter', depth: 0 })
}

class TreeReader {
  readonly #reader: QueryReader
  readonly #relations: Relations
  #leaves = 0
  #relationsUsed = 0
  #isTooDeep = false

  constructor(reader: QueryReader, relations: Relations) {
    this.#reader = reader
    this.#relations = relations
  }

  node(node: JsonValue, place: TreePosition): Filter {
    if (!isObject(node)) {
      this.#reader.addError(place.path, 'expected an object, such as {"status":{"equals":"active"}}')
      return { and: [] }
    }
    const properties = Object.entries(node)
    if (properties.length === 0) this.#countLeaf()
    return { and: properties.flatMap(([name, value]) => this.#property(name, value, place)) }
  }

  #property(name: string, value: JsonValue, place: TreePosition): Filter[] {
    if (this.#isFull) return []
    const inner = { ...place, path: `${place.path}.${name}` }
    if (name === 'not') return this.#deeper(inner, (next) => [{ not: this.node(value, next) }])
    if (name === 'and' || name === 'or') return this.#deeper(inner, (next) => [this.#combined(name, value, next)])
    if (isObject(value) && Object.keys(value).length > 0) return this.#leaf(name, value, inner)
    const operator = Object.hasOwn(this.#relations(place.resource), name) ? 'some' : 'equals'
    this.#reader.addError(inner.path, `expected an object with operators, such as {"${operator}":…}`)
    return []
  }

  #combined(name: 'and' | 'or', value: JsonValue, place: TreePosition): Filter {
    if (!Array.isArray(value)) this.#reader.addError(place.path, 'expected a list of filters')
    const items = Array.isArray(value) ? value : []
    if (items.length === 0) this.#countLeaf()
    const parts: Filter[] = []
    for (const [index, item] of items.entries()) {
      if (this.#isFull) break
      parts.push(this.node(item, { ...place, path: `${place.path}.${index}` }))
    }
    return name === 'and' ? { and: parts } : { or: parts }
  }

  /** A field or a relation with its operators. */
  #leaf(name: string, operators: JsonObject, place: TreePosition): Filter[] {
    const { resource, alias, path } = place
    const relations = this.#relations(resource)
    const relation = Object.hasOwn(relations, name) ? relations[name] : undefined
    const found: Filter[] = []
    for (const [operator, value] of Object.entries(operators)) {
      if (this.#isFull) break
      this.#countLeaf()
      const inner = { ...place, path: `${path}.${operator}` }
      if (relation && (operator === 'some' || operator === 'none')) {
        this.#countRelation()
        found.push(
          ...this.#deeper(inner, (next) => {
            const relatedAlias = `related_${next.depth}`
            const filter = this.node(value, { ...next, resource: relation.resource, alias: relatedAlias })
            const related: RelatedFilter = { relation, alias, relatedAlias, filter }
            return [operator === 'some' ? related : { not: related }]
          }),
        )
      } else found.push(...this.#condition(name, operator, value, inner))
    }
    return found
  }

  #condition(name: string, operator: string, value: JsonValue, { resource, alias, path }: TreePosition): Filter[] {
    const target = findTarget(resource, name, this.#reader.suggestions, alias)
    const condition =
      'error' in target ? target : parseCondition(target, operator, (known) => writtenInJson(target, known, value))
    if (!('error' in condition)) return [condition]
    const isRelation = 'error' in target && Object.hasOwn(this.#relations(resource), name)
    const error = isRelation ? `${name} supports some, none; found "${operator.slice(0, 40)}"` : condition.error
    this.#reader.addError(path, error)
    return []
  }

  #deeper(place: TreePosition, read: (next: TreePosition) => Filter[]): Filter[] {
    if (place.depth < maxDepth) return read({ ...place, depth: place.depth + 1 })
    if (!this.#isTooDeep)
      this.#reader.addError(place.path, `expected at most ${maxDepth} levels of and, or, not, some and none`)
    this.#isTooDeep = true
    return []
  }

  #countLeaf(): void {
    this.#leaves += 1
    if (this.#leaves === maxLeaves + 1) this.#reader.addError('filter', `expected at most ${maxLeaves} conditions`)
  }

  #countRelation(): void {
    this.#relationsUsed += 1
    if (this.#relationsUsed === maxRelations + 1)
      this.#reader.addError('filter', `expected at most ${maxRelations} uses of some and none`)
  }

  /** Checking stops: the response has enough errors, or the tree is too large. */
  get #isFull(): boolean {
    return this.#reader.errors.length >= maxDetails || this.#leaves > maxLeaves || this.#relationsUsed > maxRelations
  }
}

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
