import { field, type FieldOptions, flag, text } from './fields.ts'
import { columnOf } from './define.ts'
import type { Normalize } from '../../model/normalizers.ts'
import { identifier, join, raw, sql } from '../../model/sql.ts'
import type { JsonObject, Schema } from '../../model/json.ts'
import type { AccessCost, Computation, Field } from './field.ts'

// The kinds of fields whose value is an object, or is computed.

/** An object whose keys the organization chooses. */
export const properties = <const O extends FieldOptions>(
  options: O & {
    schema: Schema
    normalize: Normalize
    checkMerged?: Normalize
    keyForm?: (key: string) => string
    definable?: true
  },
) =>
  field<JsonObject, O & { nullable: false }>(
    {
      type: 'properties',
      filter: 'properties',
      schema: options.schema,
      databaseType: 'jsonb',
      normalize: options.normalize,
      ...(options.checkMerged && { checkMerged: options.checkMerged }),
      ...(options.keyForm && { keyForm: options.keyForm }),
      ...(options.definable && { definable: options.definable }),
      sortable: false,
    },
    { ...options, nullable: false, initial: {} },
  )

/** A server-generated object that can be read but not compared. */
export const document = <const O extends FieldOptions>(options: O & { schema: Schema }) =>
  field<JsonObject, O>(
    { type: 'document', filter: 'none', schema: options.schema, databaseType: 'jsonb', sortable: false },
    options,
  )

/** An object that is computed whenever the record is read. */
export const computed = <const O extends Omit<FieldOptions, 'readOnly' | 'nullable'>>(
  options: O & { schema: Schema; value: Computation; dependsOnReader?: true },
): Field<JsonObject, false, false> => ({
  ...document({ ...options, readOnly: true, nullable: false }),
  computed: options.value,
  ...(options.dependsOnReader && { dependsOnReader: true }),
})

/** The same text for every record. */
export const constantText =
  (value: string): Computation =>
  () =>
    raw(`'${value}'::text`)

/** A server-generated list of objects that can be read but not compared. */
export const documents = <const O extends FieldOptions>(options: O & { items: Schema }) =>
  field<JsonObject[], O & { readOnly: true; nullable: false }>(
    {
      type: 'document',
      filter: 'none',
      schema: { type: 'array', items: options.items },
      databaseType: 'json',
      sortable: false,
    },
    { ...options, readOnly: true, nullable: false, initial: [] },
  )

/**
 * A condition that an SQL function of these fields computes whenever the record is read: it may depend on the time, and
 * is never null. With `equality: 'indexed'`, an index serves the records that meet it: PostgreSQL inlines the function.
 */
export const condition = (options: Called & { equality?: AccessCost }): Field<boolean, false, false> => ({
  ...flag({ ...options, readOnly: true, nullable: false }),
  computed: callOf(options),
})

/** A text that an immutable SQL function of these fields computes. */
export const derivedText = (options: Called & { max: number }): Field<string | null, false, false> => ({
  ...text({ ...options, readOnly: true }),
  computed: callOf(options),
})

interface Called {
  label: string
  description?: string
  call: string
  of: readonly string[]
}

const callOf =
  ({ call, of }: Called): Computation =>
  (record) => {
    const values = of.map((name) => sql`${record}.${identifier(columnOf(name))}`)
    return sql`${identifier(call)}(${join(values, ', ')})`
  }
