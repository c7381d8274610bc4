import type { Transaction } from '../database/database.ts'
import { identifier, prepared, sql } from '../database/sql.ts'
import { type AnyRow, columnOf, type Resource } from './define.ts'
import type { JsonValue } from './fields.ts'
import type { Pending } from './write.ts'

/**
 * Remembers in `<singular>_edits` which fields were changed on purpose, so that no import overwrites them: every change
 * of a record but an import's own, and what a person who is logged in enters for a new one.
 */
export async function keepEdits(
  transaction: Transaction,
  resource: Resource,
  pending: readonly Pending[],
): Promise<void> {
  const { kind } = transaction.actor
  if (kind === 'import') return
  const edits = pending.flatMap(({ id, before, values }) =>
    fieldsOf(before ? values : kind === 'session' ? entered(values) : {}).map((field) => ({ id, field })),
  )
  if (edits.length === 0) return
  await transaction.query(
    prepared(sql`
    insert into ${identifier(`${resource.singular}_edits`)} (organization_id, ${ownerOf(resource)}, field)
    select ${transaction.organization}, id, field
    from jsonb_to_recordset(${JSON.stringify(edits)}::jsonb) as edit(id uuid, field text)
    order by id, field on conflict do nothing`),
  )
}

/** The fields of each of these records (uuids) that were changed on purpose. */
export async function readEdits(
  transaction: Transaction,
  resource: Resource,
  ids: readonly string[],
): Promise<Map<string, ReadonlySet<string>>> {
  if (ids.length === 0) return new Map()
  const rows = await transaction.query<{ id: string; fields: string[] }>(sql`
    select ${ownerOf(resource)} as id, array_agg(field) as fields from ${identifier(`${resource.singular}_edits`)}
    where organization_id = ${transaction.organization} and ${ownerOf(resource)} = any(${ids}::uuid[]) group by 1`)
  return new Map(rows.map(({ id, fields }) => [id, new Set(fields)]))
}

const ownerOf = ({ singular }: Resource) => identifier(columnOf(`${singular}Id`))

const fieldsOf = (values: AnyRow): string[] => Object.keys(values)

/** What a new record was given, without what every record begins with. */
const entered = (values: AnyRow): AnyRow =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => !isEmpty(value)))

/** Null, an empty list, an empty object: nothing that an import would have to spare. */
export const isEmpty = (value: JsonValue | undefined): boolean =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value).length === 0)
