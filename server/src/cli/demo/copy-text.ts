import { columnOf, initialValues, type Resource } from '../../platform/records/declare/define.ts'
import type { GeneratedRecord } from './generated-record.ts'
import type { JsonValue } from '../../platform/model/json.ts'
import type { Field } from '../../platform/records/declare/field.ts'

const nullMarker = '\\N'

/** How a table is filled with COPY: its columns, and the line of a record. */
export interface CopiedTable {
  columns: readonly string[]
  lineOf: (record: GeneratedRecord) => string
}

interface Column {
  name: string
  write: (value: JsonValue) => string
  /** What the API stores if no value is given. */
  initial: string
}

/** The table of a resource, from its declaration. Missing values become the initial values of their fields. */
export function copiedTable(resource: Resource, organizationId: string): CopiedTable {
  const initial = initialValues(resource)
  const stored = Object.entries(resource.fields).filter(([, field]) => field.computed === undefined)
  const columns = stored.map(([name, field]): Column => {
    const write = writerOf(field)
    const initialValue = initial[name] ?? null
    return { name, write, initial: initialValue === null ? nullMarker : write(initialValue) }
  })
  const hidden = Object.keys(resource.hidden)
  return {
    columns: ['organization_id', ...stored.map(([name]) => columnOf(name)), ...hidden, 'revision'],
    lineOf: ({ values, hidden: hiddenValues, revision }) => {
      let line = organizationId
      for (const { name, write, initial: initialValue } of columns) {
        const value = values[name]
        line += '\t' + (value === undefined ? initialValue : value === null ? nullMarker : write(value))
      }
      for (const name of hidden) line += '\t' + textOrNull(hiddenValues[name] ?? null)
      return `${line}\t${revision}\n`
    },
  }
}

/** A line of a table that no resource declares. */
export const plainLine = (values: readonly (string | null)[]): string => `${values.map(textOrNull).join('\t')}\n`

const textOrNull = (value: string | null): string => (value === null ? nullMarker : escapeText(value))

function writerOf({ databaseType, idPrefix }: Field): (value: JsonValue) => string {
  if (idPrefix !== undefined) {
    const from = idPrefix.length + 1
    return (value) => String(value).slice(from)
  }
  switch (databaseType) {
    case 'text':
      return (value) => escapeText(String(value))
    case 'text[]':
      return (value) => (Array.isArray(value) && value.length > 0 ? arrayLiteral(value) : '{}')
    case 'jsonb':
      return (value) => escapeText(JSON.stringify(value))
    default:
      return String
  }
}

const arrayLiteral = (items: readonly JsonValue[]): string =>
  escapeText(`{${items.map((item) => `"${String(item).replace(/["\\]/g, '\\$&')}"`).join()}}`)

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** Escapes for the text format of COPY: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2 */
const escapeText = (text: string): string =>
  /[\\\n\r\t]/.test(text) ? text.replace(/[\\\n\r\t]/g, (character) => escapes[character] ?? character) : text
