import type { Transaction } from '../database/database.ts'
import { columnOf, columnTypes, initialOf, type Resource } from '../model/define.ts'
import { identifier, join, raw, sql } from '../model/sql.ts'
import { writtenSql } from '../query/rendering.ts'
import { lookups, root } from '../query/target.ts'
import { storedSql, type StoredRow, wholeOf } from './current.ts'
import type { AtOnce, Pending, Written } from './write.ts'
import { asConflict, recordOf } from './write-statements.ts'

/**
 * Creates a record by one statement that is its own transaction: the caller's credential, what the record needs of other
 * tables, the record and its rendering take one round trip. Errors: `UniqueConflict`.
 */
export async function createAtOnce(
  transaction: Transaction,
  resource: Resource,
  pending: Pending,
  atOnce: AtOnce,
): Promise<Written> {
  atOnce.prepare?.(pending)
  const record = recordOf(resource, pending)
  const { organization } = transaction
  try {
    const [row] = await transaction.only<StoredRow>({
      name: `${resource.component} create`,
      values: [JSON.stringify([record])],
      build: ([input], live) => {
        const names = columnsOf(resource, atOnce)
        const types = columnTypes(resource)
        const given = names.map((name) => sql`${identifier(name)} ${raw(types[name] ?? 'uuid')}`)
        const values = names.map((name) => atOnce.columns?.[name]?.(organization) ?? sql`input.${identifier(name)}`)
        const change = sql`
          insert into ${identifier(resource.table)} as ${raw(root)} (organization_id, ${join(names.map(identifier), ', ')})
          select ${organization}, ${join(values, ', ')} from input`
        return {
          tables: sql`
            input as (
              select * from jsonb_to_recordset(${input}::jsonb) as input(${join(given, ', ')}) where ${live}),
            ${atOnce.tables ? sql`${atOnce.tables(organization)}, ` : raw('')}
            ${writtenSql(resource, change, { isNew: true })}`,
          answer: sql`select ${storedSql(resource, 'written')} from written ${raw(root)}${lookups(resource, organization)}`,
        }
      },
    })
    if (!row) throw new Error('a statement that creates a record answers with it')
    const { id, text, revision } = row
    return {
      id,
      before: undefined,
      text,
      revision,
      get after() {
        return wholeOf(row)
      },
    }
  } catch (error) {
    throw asConflict(error, resource, transaction, record, atOnce.columns)
  }
}

/** Every column that a new record may set: the text of the statement never depends on the request. */
function columnsOf(resource: Resource, { columns = {} }: AtOnce): string[] {
  const writable = Object.keys(initialOf(resource)).map(columnOf)
  return [...new Set(['id', ...writable, ...Object.keys(resource.hidden), ...Object.keys(columns)])]
}
