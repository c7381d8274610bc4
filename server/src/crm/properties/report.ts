import { declaredProperty } from '../../platform/records/properties/property.ts'
import { displayNoun, type Resource } from '../../platform/records/declare/define.ts'
import { ApiError, type FieldError } from '../../platform/model/errors.ts'
import { parseValue } from '../../platform/records/request/body.ts'
import type { Duplicates, StoredValues } from './stored-values-store.ts'
import type { JsonValue } from '../../platform/model/json.ts'
import type { PropertyDefinition } from '../../platform/records/declare/field.ts'

/** A record whose value prevents a definition. */
export interface Obstacle {
  id: string
  value: JsonValue
  reason: (typeof obstacleReasons)[number]
  message: string
}

/**
 * `unfit`: not a value of the type. `form`: a write would store it in another form. `missing`: no record has this id.
 * `duplicate`: another record has it too.
 */
export const obstacleReasons = ['unfit', 'form', 'missing', 'duplicate'] as const

/** What prevents a definition: the values that do not fit its type, and those that several records have. */
export const obstaclesOf = (definition: PropertyDefinition, stored: StoredValues & Duplicates): Obstacle[] => [
  ...stored.examples.map(({ id, value }) => ({ id, value, ...reasonOf(definition, value) })),
  ...stored.duplicateExamples.map(({ id, value }) => ({
    id,
    value,
    reason: 'duplicate' as const,
    message: 'is the value of another record too',
  })),
]

/** Throws 422 with the number of records and the first of them. */
export function assertFit(resource: Resource, definition: PropertyDefinition, stored: StoredValues & Duplicates): void {
  const { unfit, duplicates } = stored
  if (unfit + duplicates === 0) return
  const records = (count: number) =>
    count === 1 ? `1 ${displayNoun(resource.singular)} has` : `${count} ${displayNoun(resource.name)} have`
  const sentences = [
    ...(unfit > 0 ? [`${records(unfit)} a value that does not fit the type ${definition.type}.`] : []),
    ...(duplicates > 0 ? [`${records(duplicates)} a value that another one has too.`] : []),
  ]
  const details = obstaclesOf(definition, stored).map(({ id, value, message }): FieldError => ({
    field: `customProperties.${definition.key}`,
    message: `${shorten(value)}: ${message}`,
    id,
  }))
  throw new ApiError('invalid_field_value', `${sentences.join(' ')} Correct these records first.`, { details })
}

/** Why a stored value does not fit; a valid one would be stored in another form. */
function reasonOf(definition: PropertyDefinition, value: JsonValue): Pick<Obstacle, 'reason' | 'message'> {
  const read = parseValue(declaredProperty(definition).field, definition.key, value, 'create')
  // Each item of a list may have the same error.
  if (Array.isArray(read))
    return { reason: 'unfit', message: [...new Set(read.map(({ message }) => message))].join(', ') }
  if (definition.type === 'reference') return { reason: 'missing', message: 'no record with this id exists' }
  return { reason: 'form', message: `expected the form ${shorten(read.value)}` }
}

const maxShownLength = 100

function shorten(value: JsonValue): string {
  const text = [...JSON.stringify(value)]
  return text.length > maxShownLength ? `${text.slice(0, maxShownLength).join('')}…` : text.join('')
}
