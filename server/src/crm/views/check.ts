import type { Resource } from '../../platform/records/declare/define.ts'
import type { BodyError } from '../../platform/model/errors.ts'
import type { FieldType } from '../../platform/records/declare/field-types.ts'
import { QueryReader } from '../../platform/records/page/parse.ts'
import { parseSelection } from '../../platform/records/page/select.ts'
import { findTarget } from '../../platform/records/filter/target.ts'
import { readView } from '../../platform/records/page/view.ts'
import type { Readable } from '../../platform/records/properties/resources.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** Fields with few values, of which each can be a column of a board. */
const groupedTypes: readonly FieldType[] = ['choice', 'reference', 'boolean']

/** The errors of the values (those that a change sends) as a view of this resource. */
export function errorsOfView({ resource, relations }: Readable, values: JsonObject): readonly BodyError[] {
  const reader = new QueryReader()
  const { filter = {}, columns, query, orderBy, groupBy } = values
  readView(reader, resource, relations, { filter, query: textOf(query), orderBy: textOf(orderBy), sort: null })
  for (const [index, path] of (Array.isArray(columns) ? columns : []).entries()) {
    const { errors } = parseSelection(resource, [String(path)], reader.suggestions)
    for (const error of errors) reader.addError(`columns.${index}`, error)
  }
  checkWidths(reader, resource, values.columnWidths)
  if (typeof groupBy === 'string') checkGroup(reader, resource, groupBy)
  return reader.errors
}

function checkWidths(reader: QueryReader, resource: Resource, widths: JsonValue | undefined): void {
  if (typeof widths !== 'object' || widths === null || Array.isArray(widths)) return
  for (const path of Object.keys(widths)) {
    const { errors } = parseSelection(resource, [path], reader.suggestions)
    for (const error of errors) reader.addError(`columnWidths.${path}`, error)
  }
}

function checkGroup(reader: QueryReader, resource: Resource, path: string): void {
  const target = findTarget(resource, path, reader.suggestions)
  if ('error' in target) reader.addError('groupBy', target.error)
  else if (!target.isOwn || !groupedTypes.includes(target.field.type))
    reader.addError('groupBy', `expected a field of the record with one of the types ${groupedTypes.join(', ')}`)
}

const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' ? value : null)
