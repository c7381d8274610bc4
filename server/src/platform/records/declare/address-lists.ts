import { identifier, join, raw, type Sql, sql } from '../../model/sql.ts'
import { emailKey, type Normalized } from '../../model/normalizers.ts'
import { trimmed } from '../../model/text.ts'
import { columnOf, type FurtherText } from './define.ts'
import { email, field, phone } from './fields.ts'
import type { JsonObject, JsonValue, Schema } from '../../model/json.ts'
import type { AddressList, Field } from './field.ts'

/** What an address is for. Null if nobody has said. */
export const addressKinds = ['work', 'personal', 'mobile', 'other'] as const

export const maxAddresses = 20

const kindSchema = {
  type: ['string', 'null'],
  enum: [...addressKinds, null],
  description: 'What it is for; null if nobody has said.',
}
const primarySchema = {
  type: 'boolean',
  description: 'True for exactly one entry. If none is marked, the first one is.',
}

/** The email addresses of a record. `primary`: the field with the primary one. */
export const emailList = (options: { label: string; description: string; primary: string }) =>
  addressList({
    ...options,
    item: 'address',
    itemField: email({ label: options.label, nullable: false, lookup: { column: 'email_key', key: emailKey } }),
    keyOf: emailKey,
    sqlFunction: 'email_list',
    more: {
      bouncedAt: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When a message to it was returned. Read-only: it can be sent back as it was read.',
      },
    },
  })

export const phoneList = (options: { label: string; description: string; primary: string }) =>
  addressList({
    ...options,
    item: 'number',
    itemField: phone({ label: options.label, nullable: false }),
    sqlFunction: 'phone_list',
    more: {},
  })

interface ListOptions {
  label: string
  description: string
  primary: string
  item: string
  itemField: Field
  keyOf?: (address: string) => string
  sqlFunction: string
  more: Record<string, Schema>
}

function addressList({ label, description, primary, item, itemField, keyOf, sqlFunction, more }: ListOptions) {
  const list: AddressList = {
    primary,
    item,
    itemField,
    sqlFunction,
    ...(keyOf && { keyOf }),
    moreNames: Object.keys(more),
  }
  return {
    ...field<JsonObject[], { label: string; description: string; nullable: false; initial: [] }>(
      {
        type: item === 'number' ? 'phones' : 'emails',
        filter: 'none',
        schema: {
          type: 'array',
          maxItems: maxAddresses,
          items: {
            type: 'object',
            required: [item],
            additionalProperties: false,
            properties: { [item]: itemField.schema, kind: kindSchema, primary: primarySchema, ...more },
          },
        },
        databaseType: 'jsonb',
        normalize: (value) => normalizeEntries(list, value),
        sortable: false,
      },
      { label, description, nullable: false, initial: [] },
    ),
    list,
  }
}

/** The entries with all their properties, except those that only the service sets: as they were sent. */
function normalizeEntries(list: AddressList, value: JsonValue): Normalized {
  const sent = (Array.isArray(value) ? value : []) as JsonObject[]
  const marked = sent.filter(({ primary }) => primary === true)
  if (marked.length > 1) return { error: 'only one entry can be primary' }
  const entries: JsonObject[] = []
  const keys = new Map<string, number>()
  for (const [index, entry] of sent.entries()) {
    const address = normalizedAddress(list, entry[list.item] ?? null)
    if ('error' in address) return { error: address.error, at: `${index}.${list.item}` }
    const text = String(address.value)
    const key = keyIn(list, text)
    if (keys.has(key)) return { error: `is the same as entry ${keys.get(key)}`, at: `${index}.${list.item}` }
    keys.set(key, index)
    const isPrimary = marked.length > 0 ? entry.primary === true : index === 0
    entries.push({ ...entry, [list.item]: text, kind: entry.kind ?? null, primary: isPrimary })
  }
  return { value: entries }
}

const normalizedAddress = ({ itemField }: AddressList, value: JsonValue): Normalized => {
  const text = typeof value === 'string' ? trimmed(value) : value
  return text === '' ? { error: 'must not be blank' } : (itemField.normalize?.(text) ?? { value: text })
}

export const keyIn = ({ keyOf }: AddressList, address: string): string => keyOf?.(address) ?? address

/** The list as the API shows it, as JSON text. The same in `documentOf`. */
export const listText = ({ primary, sqlFunction }: AddressList, name: string, record: Sql): Sql =>
  sql`${raw(sqlFunction)}(${record}.${identifier(columnOf(primary))}, ${record}.${identifier(columnOf(name))})`

export const addressesSql = ({ primary, item }: AddressList, name: string, record: Sql): Sql =>
  sql`address_texts(${record}.${identifier(columnOf(primary))}, ${record}.${identifier(columnOf(name))}, ${raw(`'${item}'`)})`

/** The text that the search column lacks, as the index has it; only of records that have some. */
export function furtherText({ call, of }: FurtherText, record: Sql): { text: Sql; isThere: Sql } {
  const columns = of.map((name) => sql`${record}.${identifier(columnOf(name))}`)
  const present = columns.map((column) => sql`${column} is not null`)
  return { text: sql`${raw(call)}(${join(columns, ', ')})`, isThere: sql`(${join(present, ' or ')})` }
}

/** The entries of a record, whose primary address is that of the field with it. */
export function entriesOf(list: AddressList, name: string, record: Readonly<JsonObject>): JsonObject[] {
  const { primary, item } = list
  const address = record[primary]
  const listed = (Array.isArray(record[name]) ? record[name] : []) as JsonObject[]
  const further = listed.filter((entry) => entry.primary !== true)
  // A process of release 0.1.0 may have removed the primary address alone.
  if (typeof address !== 'string') return further
  const others = further.filter((entry) => keyIn(list, String(entry[item])) !== keyIn(list, address))
  const known = listed.find((entry) => entry.primary === true)
  if (!known) return [newEntry(list, address), ...others]
  const isSame = keyIn(list, String(known[item])) === keyIn(list, address)
  const replaced = isSame ? { ...known, [item]: address } : { ...newEntry(list, address), kind: known.kind ?? null }
  return listed
    .filter((entry) => entry === known || others.includes(entry))
    .map((entry) => (entry === known ? replaced : entry))
}

/** A primary entry of which nothing but the address is known. */
export const newEntry = ({ item, moreNames }: AddressList, address: string): JsonObject => ({
  [item]: address,
  kind: null,
  primary: true,
  ...Object.fromEntries(moreNames.map((name) => [name, null])),
})

/** What the column has: null if the list says no more than the field with the primary address. */
export function storedEntries(list: AddressList, entries: readonly JsonObject[]): JsonValue {
  const rows = entries.map((entry) => {
    const address = String(entry[list.item])
    const identity =
      entry.primary === true ? {} : { [list.item]: address, ...(list.keyOf && { key: keyIn(list, address) }) }
    const others = Object.entries(entry).filter(
      ([name, value]) => name !== list.item && value !== null && value !== false,
    )
    return { ...identity, ...Object.fromEntries(others) }
  })
  const says = rows.length > 1 || rows.some((row) => Object.keys(row).length > 1)
  return says ? rows : null
}
