import type { Resource } from '../declare/define.ts'
import { encodeId } from '../../model/ids.ts'
import { join, type Sql, sql } from '../../model/sql.ts'
import { isNumber, type Operand, textsOf, type Condition } from './operand.ts'
import { type Target, valueOf } from './target.ts'

/** Containment from the root, which the index on the whole column serves. `values`: JSON. */
export function anyContained(resource: Resource, target: Target, values: readonly string[]): Sql {
  const [head = ''] = target.name.split('.')
  const column = valueOf(resource, head, target.alias)
  const wrapped = values.map((json) =>
    target.keys.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, json),
  )
  return sql`(${join(
    wrapped.map((json) => sql`${column} @> ${json}::jsonb`),
    ' or ',
  )})`
}

/** The JSON values of which a record has one if its declared property matches; empty if it could have others. */
export function containedJson({ target, operator, operand }: Condition): readonly string[] {
  const { declared, field } = target
  // Amounts are equal whatever their trailing zeros are, which a text shows.
  if (!declared || field.type === 'decimal') return []
  switch (operator) {
    case 'hasEvery':
    case 'has':
      return [JSON.stringify(textsOf(operand))]
    case 'hasSome':
      return textsOf(operand).map((value) => JSON.stringify([value]))
    case 'equals':
    case 'in':
      return jsonOf(operand, field.idPrefix)
    default:
      return []
  }
}

/** The values as JSON; empty if they are not stored as they are compared, or if a number is not written as in JSON. */
function jsonOf(operand: Operand, idPrefix = ''): readonly string[] {
  switch (operand.kind) {
    case 'ids':
      return operand.values.map((id) => JSON.stringify(encodeId(idPrefix, id)))
    case 'boolean':
      return [String(operand.value)]
    case 'number':
      return jsonNumber.test(operand.value) ? [operand.value] : []
    case 'numbers':
      return operand.values.every((value) => jsonNumber.test(value)) ? operand.values : []
    default:
      return textsOf(operand).map((value) => JSON.stringify(value))
  }
}

const jsonNumber = /^-?(0|[1-9]\d*)(\.|[eE]|$)/

/** The JSON values that a filter's text can stand for: the string, and the number or boolean written that way. */
export function asJson(values: readonly string[]): string[] {
  return values.flatMap((value) => {
    const literal = jsonNumber.test(value) ? isNumber(value) : value === 'true' || value === 'false'
    return literal ? [JSON.stringify(value), value] : [JSON.stringify(value)]
  })
}
