import type { FieldType } from './field-types.ts'
import { type Normalize, normalizers } from '../../model/normalizers.ts'
import type { JsonValue, Schema } from '../../model/json.ts'
import type { FilterType, AccessCost, Field } from './field.ts'

export interface FieldOptions {
  label: string
  description?: string
  required?: boolean
  nullable?: boolean
  readOnly?: boolean
  order?: AccessCost
  equality?: AccessCost
  indexedAlong?: string
  searched?: boolean
  initial?: JsonValue
  format?: 'year'
  lookup?: { column: string; key: (value: string) => string }
  neverDecreases?: true
}

type Writability<O extends FieldOptions> = O extends { readOnly: true } ? false : true
type Requirement<O extends FieldOptions> = O extends { required: true } ? true : false
type Nullability<Value, O extends FieldOptions> = O extends { required: true } | { nullable: false }
  ? Value
  : Value | null
type FieldOf<Value, O extends FieldOptions> = Field<Nullability<Value, O>, Writability<O>, Requirement<O>>

export interface FieldKind {
  type: FieldType
  filter: FilterType
  schema: Schema
  databaseType: string
  normalize?: Normalize
  checkMerged?: Normalize
  isCanonical?: true
  keyForm?: (key: string) => string
  idPrefix?: string
  references?: { table: string; softDeleted: boolean; key: string; cascades?: true }
  hasNoForeignKey?: true
  definable?: true
  ranks?: readonly string[]
  sortable?: boolean
}

/** Builds a field of a kind. For the kinds of fields only. */
export function field<Value, const O extends FieldOptions>(fieldKind: FieldKind, options: O): FieldOf<Value, O> {
  const { required = false, readOnly = false } = options
  const { sortable = true, ...rest } = fieldKind
  const built: Field = {
    ...rest,
    label: options.label,
    required,
    nullable: options.nullable ?? !required,
    writable: !readOnly,
    order: sortable ? (options.order ?? 'scan') : 'none',
    equality: options.equality ?? 'scan',
  }
  if (options.description !== undefined) built.description = options.description
  if (options.indexedAlong !== undefined) built.indexedAlong = options.indexedAlong
  if (options.searched !== undefined) built.searched = options.searched
  if (options.initial !== undefined) built.initial = options.initial
  if (options.format !== undefined) built.format = options.format
  if (options.lookup !== undefined) built.lookup = options.lookup
  if (options.neverDecreases) built.neverDecreases = true
  return built as FieldOf<Value, O>
}

export const id = (prefix: string) =>
  field<string, { label: string; readOnly: true; nullable: false; order: 'indexed'; equality: 'indexed' }>(
    {
      type: 'id',
      filter: 'id',
      schema: {
        type: 'string',
        pattern: `^${prefix}_[0-9a-f]{32}$`,
        examples: [`${prefix}_019aa5b2c1d27e3fa4b5c6d7e8f90123`],
      },
      databaseType: 'uuid',
      idPrefix: prefix,
    },
    { label: 'Id', readOnly: true, nullable: false, order: 'indexed', equality: 'indexed' },
  )

export const reference = <const O extends FieldOptions>(
  prefix: string,
  options: O & { table?: string; softDeleted?: boolean; key?: string; cascades?: true; hasNoForeignKey?: true },
) => {
  const { table, softDeleted = true, key = 'id', cascades, hasNoForeignKey } = options
  return field<string, O>(
    {
      type: 'reference',
      filter: 'id',
      schema: { type: 'string', pattern: `^${prefix}_[0-9a-f]{32}$` },
      databaseType: 'uuid',
      idPrefix: prefix,
      ...(table !== undefined && { references: { table, softDeleted, key, ...(cascades && { cascades }) } }),
      ...(hasNoForeignKey && { hasNoForeignKey }),
    },
    options,
  )
}

/** One line of text of at most `max` characters, stored as typed. */
export const text = <const O extends FieldOptions>(options: O & { max?: number }) =>
  field<string, O>(
    {
      type: 'text',
      filter: 'string',
      schema: { type: 'string', minLength: 1, maxLength: options.max ?? 200 },
      databaseType: 'text',
      normalize: normalizers.singleLine,
    },
    options,
  )

/** A value that is compared exactly and never stored: a password, a token. */
export const secretText = <const O extends FieldOptions>(options: O & { max?: number }) =>
  field<string, O>(
    {
      type: 'text',
      filter: 'none',
      schema: { type: 'string', minLength: 1, maxLength: options.max ?? 500, format: 'password' },
      databaseType: 'text',
      sortable: false,
    },
    options,
  )

export const longText = <const O extends FieldOptions>(options: O & { max?: number }) =>
  field<string, O>(
    {
      type: 'longText',
      filter: 'string',
      schema: { type: 'string', minLength: 1, maxLength: options.max ?? 10_000 },
      databaseType: 'text',
      normalize: normalizers.multiLine,
    },
    options,
  )

const formattedText = (type: FieldType, format: string, max: number, normalize: Normalize, example: string) =>
  ({
    type,
    filter: 'string',
    schema: { type: 'string', minLength: 1, maxLength: max, format, examples: [example] },
    databaseType: 'text',
    normalize,
  }) satisfies FieldKind

export const email = <const O extends FieldOptions>(options: O) =>
  field<string, O>(formattedText('email', 'email', 320, normalizers.email, 'ada@example.com'), options)

/** A phone number, stored in E.164 form. */
export const phone = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    { ...formattedText('phone', 'phone', 40, normalizers.phone, '+49301234567'), isCanonical: true },
    options,
  )

/** An http or https address. */
export const url = <const O extends FieldOptions>(options: O) =>
  field<string, O>(formattedText('url', 'uri', 2048, normalizers.url, 'https://example.com'), options)

export const domain = <const O extends FieldOptions>(options: O) =>
  field<string, O>(formattedText('domain', 'hostname', 253, normalizers.domain, 'example.com'), options)

/** An IANA time zone, stored by its canonical name. */
export const timeZone = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    { ...formattedText('timeZone', 'time-zone', 64, normalizers.timeZone, 'Europe/Berlin'), isCanonical: true },
    options,
  )

export const country = <const O extends FieldOptions>(options: O) =>
  field<string, O>(formattedText('country', 'country-code', 2, normalizers.country, 'DE'), options)

/** A month, `YYYY-MM`. */
export const month = <const O extends FieldOptions>(options: O) =>
  field<string, O>(formattedText('month', 'year-month', 7, normalizers.month, '2024-05'), options)

const dateSchema = { type: 'string', format: 'date', examples: ['2026-12-24'] }

/** A calendar day, `YYYY-MM-DD`, without a time zone. In filters it is compared as that UTC day. */
export const date = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    { type: 'date', filter: 'date', schema: dateSchema, databaseType: 'date', normalize: normalizers.date },
    options,
  )

/** An ISO 4217 currency code. */
export const currency = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    { ...formattedText('currency', 'currency-code', 3, normalizers.currency, 'EUR'), isCanonical: true },
    options,
  )

/** The name of a person or company on a social network, without `@`. */
export const handle = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    {
      type: 'handle',
      filter: 'string',
      schema: { type: 'string', minLength: 1, maxLength: 300, examples: ['adalovelace'] },
      databaseType: 'text',
      normalize: normalizers.handle,
    },
    options,
  )

/** One of these texts. `isRanked`: lists sort by their order here instead of by their letters. */
export const choice = <const Choices extends readonly string[], const O extends FieldOptions>(
  choices: Choices,
  options: O & { isRanked?: true },
) =>
  field<Choices[number], O>(
    {
      type: 'choice',
      filter: 'string',
      schema: { type: 'string', enum: choices },
      databaseType: 'text',
      ...(options.isRanked && { ranks: choices }),
    },
    options,
  )

/** A number within bounds, stored as a double. */
export const number = <const O extends FieldOptions>(options: O & { min: number; max: number }) =>
  field<number, O>(
    {
      type: 'number',
      filter: 'number',
      schema: { type: 'number', minimum: options.min, maximum: options.max },
      databaseType: 'double precision',
    },
    options,
  )

export const integer = <const O extends FieldOptions>(options: O & { min: number; max: number }) =>
  field<number, O>(
    {
      type: 'integer',
      filter: 'number',
      schema: { type: 'integer', minimum: options.min, maximum: options.max },
      databaseType: 'integer',
    },
    options,
  )

/** A decimal of at most 20 digits, stored in a string so that it is never rounded. */
export const decimal = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    {
      type: 'decimal',
      filter: 'number',
      schema: { type: 'string', maxLength: 22, pattern: '^-?[0-9]{1,20}(\\.[0-9]{1,19})?$', examples: ['1250000.50'] },
      databaseType: 'numeric',
      normalize: normalizers.decimal,
    },
    options,
  )

export const flag = <const O extends FieldOptions>(options: O) =>
  field<boolean, O>(
    { type: 'boolean', filter: 'boolean', schema: { type: 'boolean' }, databaseType: 'boolean' },
    options,
  )

/** An instant in UTC, with milliseconds; always set by the service. */
export const timestamp = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    {
      type: 'timestamp',
      filter: 'date',
      schema: { type: 'string', format: 'date-time', examples: ['2026-11-21T09:30:00.000Z'] },
      databaseType: 'timestamptz',
    },
    options,
  )

/** An instant that callers send with any UTC offset; stored and shown in UTC, with milliseconds. */
export const instant = <const O extends FieldOptions>(options: O) =>
  field<string, O>(
    {
      type: 'timestamp',
      filter: 'date',
      schema: { type: 'string', format: 'date-time', examples: ['2026-12-24T17:30:00+01:00'] },
      databaseType: 'timestamptz',
      normalize: normalizers.instant,
    },
    options,
  )

/** A set of strings: no duplicates, in the order given. */
export const stringList = <const O extends FieldOptions>(options: O & { count?: number; max?: number }) =>
  field<string[], O & { nullable: false }>(
    {
      type: 'list',
      filter: 'array',
      schema: {
        type: 'array',
        maxItems: options.count ?? 100,
        items: { type: 'string', minLength: 1, maxLength: options.max ?? 100 },
      },
      databaseType: 'text[]',
      normalize: normalizers.stringList,
    },
    { ...options, nullable: false, initial: [] },
  )
