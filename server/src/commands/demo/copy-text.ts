import { columnOf, initialOf, type Resource } from '../../platform/model/define.ts'
import type { Field, JsonValue } from '../../platform/model/fields.ts'
import type { Made } from './made.ts'

const nothing = '\\N'

/** A table as COPY fills it: its columns, and the line of each record. */
export interface CopiedTable {
  columns: readonly string[]
  lineOf: (made: Made) => string
}

interface Column {
  name: string
  write: (value: JsonValue) => string
  /** What the API would store where nothing is said. */
  initial: string
}

/** The table of a resource, by its declaration: what a record does not say has the field's initial value. */
export function copiedTable(resource: Resource, organizationId: string): CopiedTable {
  const initial = initialOf(resource)
  const stored = Object.entries(resource.fields).filter(([, field]) => field.computed === undefined)
  const columns = stored.map(([name, field]): Column => {
    const write = writerOf(field)
    const begin = initial[name] ?? null
    return { name, write, initial: begin === null ? nothing : write(begin) }
  })
  const hidden = Object.keys(resource.hidden)
  return {
    columns: ['organization_id', ...stored.map(([name]) => columnOf(name)), ...hidden, 'revision'],
    lineOf: ({ values, hidden: unseen, revision }) => {
      let line = organizationId
      for (const { name, write, initial: begin } of columns) {
        const value = values[name]
        line += '\t' + (value === undefined ? begin : value === null ? nothing : write(value))
      }
      for (const name of hidden) line += '\t' + textOrNothing(unseen[name] ?? null)
      return `${line}\t${revision}\n`
    },
  }
}

/** A table that no resource declares. */
export const plainLine = (values: readonly (string | null)[]): string => `${values.map(textOrNothing).join('\t')}\n`

const textOrNothing = (value: string | null): string => (value === null ? nothing : escaped(value))

function writerOf({ databaseType, idPrefix }: Field): (value: JsonValue) => string {
  if (idPrefix !== undefined) {
    const from = idPrefix.length + 1
    return (value) => String(value).slice(from)
  }
  switch (databaseType) {
    case 'text':
      return (value) => escaped(String(value))
    case 'text[]':
      return (value) => (Array.isArray(value) && value.length > 0 ? listOf(value) : '{}')
    case 'jsonb':
      return (value) => escaped(JSON.stringify(value))
    default:
      return String
  }
}

const listOf = (words: readonly JsonValue[]): string =>
  escaped(`{${words.map((word) => `"${String(word).replace(/["\\]/g, '\\$&')}"`).join()}}`)

const special: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** As the text format of COPY has it: https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2 */
const escaped = (text: string): string =>
  /[\\\n\r\t]/.test(text) ? text.replace(/[\\\n\r\t]/g, (letter) => special[letter] ?? letter) : text
