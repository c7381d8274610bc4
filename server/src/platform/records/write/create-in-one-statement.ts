import type { Transaction } from '../../database/database.ts'
import { OutdatedRead } from '../../database/failures.ts'
import { columnOf, columnTypes, initialValues, type Resource } from '../declare/define.ts'
import { newId } from '../../model/ids.ts'
import { identifier, join, raw, sql } from '../../model/sql.ts'
import { writtenSql } from '../rendering/rendering.ts'
import { lookupJoins, root } from '../filter/target.ts'
import { scopeOf } from '../page/read.ts'
import { storedSql, wholeOf } from './current.ts'
import { creationHistorySql } from './history.ts'
import { creationEntriesSql, entryChanges } from '../properties/entry-rows.ts'
import { currentSetSql, forgetSet } from '../properties/sets.ts'
import { toUniqueConflict, recordOf } from './write-statements.ts'
import type { SingleStatementCreate, PendingChange, WrittenRecord, StoredRow } from '../declare/changes.ts'
import type { PropertySet } from '../declare/field.ts'

interface OneStatementOptions {
  singleStatement: SingleStatementCreate
  set: PropertySet | undefined
  run: NonNullable<Transaction['runSingle']>
}

/**
 * Creates a record in one round trip: credential check, lookups, record and rendering. `set` has the definitions by which
 * the record is valid. Throws `UniqueConflict`, or `OutdatedRead` if the definitions have changed.
 */
export async function createInOneStatement(
  transaction: Transaction,
  resource: Resource,
  pending: PendingChange,
  { singleStatement, set, run }: OneStatementOptions,
): Promise<WrittenRecord> {
  singleStatement.prepare?.(transaction, pending)
  const record = recordOf(resource, pending)
  const { organization } = transaction
  const entries = entryChanges(resource, set, [pending])
  const isIndexed = entries.length > 0
  try {
    const [row] = await run<StoredRow>({
      name: `${resource.component} create${isIndexed ? ' with entries' : ''}`,
      values: [
        JSON.stringify([record]),
        newId(),
        ...(set ? [String(set.revision)] : []),
        ...(isIndexed ? [JSON.stringify(entries)] : []),
      ],
      build: ([input, historyId, revision, changes], live) => {
        const names = columnsOf(resource, singleStatement)
        const types = columnTypes(resource)
        const given = names.map((name) => sql`${identifier(name)} ${raw(types[name] ?? 'uuid')}`)
        const values = names.map(
          (name) => singleStatement.columns?.[name]?.(organization) ?? sql`input.${identifier(name)}`,
        )
        const sets = revision
          ? sql`current_set as materialized (${currentSetSql(organization, resource, revision)}), `
          : raw('')
        const isValid = revision ? sql`${live} and exists (select from current_set)` : live
        const history = resource.history && historyId ? creationHistorySql(transaction, resource, historyId) : raw('')
        const stored = changes ? creationEntriesSql(transaction, sql`${changes}`) : raw('')
        const change = sql`
          insert into ${identifier(resource.table)} as ${raw(root)} (organization_id, ${join(names.map(identifier), ', ')})
          select ${organization}, ${join(values, ', ')} from input`
        return {
          tables: sql`${sets}
            input as (
              select * from jsonb_to_recordset(${input}::jsonb) as input(${join(given, ', ')}) where ${isValid}),
            ${singleStatement.tables ? sql`${singleStatement.tables(organization)}, ` : raw('')}
            ${writtenSql(resource, change, { isNew: true })}${history}${stored}`,
          result: sql`select ${storedSql(resource, 'written')} from written ${raw(root)}${lookupJoins(resource, scopeOf(transaction, undefined))}`,
        }
      },
    })
    if (!row && set) {
      forgetSet(transaction, resource)
      throw new OutdatedRead()
    }
    if (!row) throw new Error('the statement returned no record')
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
    throw toUniqueConflict(error, resource, transaction, record, singleStatement.columns)
  }
}

/** Every column that a new record can set, so that the statement's text does not depend on the request. */
function columnsOf(resource: Resource, { columns = {} }: SingleStatementCreate): string[] {
  const writable = Object.keys(initialValues(resource)).map(columnOf)
  return [...new Set(['id', ...writable, ...Object.keys(resource.hidden), ...Object.keys(columns)])]
}
