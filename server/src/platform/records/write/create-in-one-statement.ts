import type { Transaction } from '../../database/database.ts'
import { OutdatedRead } from '../../database/failures.ts'
import { columnOf, columnTypes, initialValues, isInFeed, type Resource } from '../declare/define.ts'
import { newId } from '../../model/ids.ts'
import { invalidBody } from '../../model/errors.ts'
import { identifier, join, type Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { writtenSql } from '../rendering/rendering.ts'
import { lookupJoins, root } from '../filter/target.ts'
import { readFor } from '../filter/scope.ts'
import { scopeOf } from '../page/read.ts'
import { storedSql, wholeOf } from './current.ts'
import { creationEditsSql, editedFields } from './edits.ts'
import { creationEventSql } from './events.ts'
import { creationEntriesSql, entryChanges } from '../properties/entry-rows.ts'
import { currentSetSql, forgetSet } from '../properties/sets.ts'
import { missing, type Named, namedByFields } from './references.ts'
import { toUniqueConflict, recordOf } from './write-statements.ts'
import type { SingleStatementCreate, PendingChange, WrittenRecord, StoredRow } from '../declare/changes.ts'
import type { PropertySet } from '../declare/field.ts'

interface OneStatementOptions {
  singleStatement: SingleStatementCreate
  set: PropertySet | undefined
  run: NonNullable<Transaction['runSingle']>
}

/** The record, or the references that it lacks. */
type CreatedRow = { [Name in keyof StoredRow]: StoredRow[Name] | null } & { missing?: string[] }

/**
 * Creates a record in one round trip: credential check, lookups, references, record and rendering. `set` has the
 * definitions by which the record is valid. Throws 422, `UniqueConflict`, or `OutdatedRead` if the definitions have
 * changed or the condition is not met: repeated, it then takes several statements.
 */
export async function createInOneStatement(
  transaction: Transaction,
  resource: Resource,
  pending: PendingChange,
  { singleStatement, set, run }: OneStatementOptions,
): Promise<WrittenRecord> {
  singleStatement.prepare?.(transaction, pending)
  const record = recordOf(resource, pending)
  const named = namedByFields(transaction, resource, [pending]).filter(({ ids }) => ids.length > 0)
  const columns = columnsFor(singleStatement, named)
  const parts = new Map([
    ['input', JSON.stringify([record])],
    ['eventId', newId()],
    ...(set ? [['revision', String(set.revision)] as const] : []),
    ...listPart('entries', entryChanges(resource, set, [pending])),
    ...listPart('edits', singleStatement.storesEdits ? editedFields(transaction.actor, pending) : []),
  ])
  const names = [...parts.keys()]
  const variant = [...names.slice(2), ...named.map(({ path }) => path)].filter((name) => name !== 'revision')
  try {
    const [row] = await run<CreatedRow>({
      name: [resource.component, 'create', ...variant].join(' '),
      values: [...parts.values()],
      build: (given, live) => {
        const values = Object.fromEntries(names.map((name, index) => [name, given[index]]))
        return statementOf(transaction, resource, { values, named, columns, parts: singleStatement, live })
      },
    })
    const absent = named.filter(({ path }) => row?.missing?.includes(path))
    if (absent.length > 0) throw invalidBody(absent.map(missing))
    if (!row?.id && set) {
      forgetSet(transaction, resource)
      throw new OutdatedRead()
    }
    return writtenOf(row)
  } catch (error) {
    throw toUniqueConflict(error, resource, transaction, record, columns)
  }
}

const listPart = (name: string, values: readonly unknown[]): (readonly [string, string])[] =>
  values.length > 0 ? [[name, JSON.stringify(values)]] : []

type Columns = NonNullable<SingleStatementCreate['columns']>

function columnsFor({ columns = {} }: SingleStatementCreate, named: readonly Named[]): Columns {
  const own = new Set(named.map(({ path }) => columnOf(path)))
  return Object.fromEntries(Object.entries(columns).filter(([name]) => !own.has(name)))
}

interface StatementParts {
  values: Readonly<Record<string, Parameter | undefined>>
  named: readonly Named[]
  columns: Columns
  parts: Pick<SingleStatementCreate, 'tables' | 'condition'>
  live: Sql
}

function statementOf(
  transaction: Transaction,
  resource: Resource,
  {
    values: { input, eventId, revision, entries, edits },
    named,
    columns,
    parts: { tables, condition },
    live,
  }: StatementParts,
): { tables: Sql; result: Sql } {
  const { organization } = transaction
  const names = columnsOf(resource, columns)
  const types = columnTypes(resource)
  const given = names.map((name) => sql`${identifier(name)} ${raw(types[name] ?? 'uuid')}`)
  const values = names.map((name) => columns[name]?.(organization) ?? sql`input.${identifier(name)}`)
  const sets = revision
    ? sql`current_set as materialized (${currentSetSql(organization, resource, revision)}), `
    : raw('')
  const isValid = revision ? sql`${live} and exists (select from current_set)` : live
  const references = named.map(
    (one) => sql`${foundOf(one)} as (${referenceSql(organization, one, sql`${input}`, isValid)}), `,
  )
  const isComplete = [isValid, ...named.map((one) => sql`exists (select from ${foundOf(one)})`)]
  const event = eventId && isInFeed(resource) ? creationEventSql(transaction, resource, eventId) : raw('')
  const entryTables = entries ? creationEntriesSql(transaction, sql`${entries}`) : raw('')
  const editTables = edits ? creationEditsSql(transaction, resource, sql`${edits}`) : raw('')
  const change = sql`
    insert into ${identifier(resource.table)} as ${raw(root)} (organization_id, ${join(names.map(identifier), ', ')})
    select ${organization}, ${join(values, ', ')} from input${condition ? sql` where ${condition}` : raw('')}`
  return {
    tables: sql`${sets}${join(references, '')}
      input as (
        select * from jsonb_to_recordset(${input}::jsonb) as input(${join(given, ', ')})
        where ${join(isComplete, ' and ')}),
      ${tables ? sql`${tables(organization)}, ` : raw('')}
      ${writtenSql(resource, change, { isNew: true })}${event}${entryTables}${editTables}`,
    result: resultSql(transaction, resource, named, isValid),
  }
}

const foundOf = ({ path }: Named): Sql => identifier(`found_${columnOf(path)}`)

/** The whole row, so that the record is returned with what it refers to now. Locked until the transaction ends. */
const referenceSql = (
  organization: Sql,
  { path, table, key, softDeleted, bounds }: Named,
  input: Sql,
  isValid: Sql,
): Sql => sql`
  select * from ${identifier(table)}
  where organization_id = ${organization}
    and ${identifier(key)} = (${input}::jsonb -> 0 ->> ${raw(`'${columnOf(path)}'`)})::uuid
    ${raw(softDeleted ? 'and deleted_at is null' : '')}${bounds} and ${isValid} for key share`

function resultSql(transaction: Transaction, resource: Resource, named: readonly Named[], isValid: Sql): Sql {
  const scope = scopeOf(transaction, undefined)
  const found = new Map(named.map((one) => [one.path, foundOf(one)]))
  const { reader } = readFor(resource, transaction)
  const stored = sql`select ${storedSql(resource, 'written', { reader })} from written ${raw(root)}${lookupJoins(resource, scope, found)}`
  if (named.length === 0) return stored
  const absent = named.map(
    (one) => sql`case when not exists (select from ${foundOf(one)}) then ${raw(`'${one.path}'`)} end`,
  )
  return sql`select stored.*, checked.missing
    from (select array_remove(array[${join(absent, ', ')}]::text[], null) as missing where ${isValid}) checked
    left join (${stored}) stored on true`
}

function writtenOf(row: CreatedRow | undefined): WrittenRecord {
  const { id, text, whole, revision } = row ?? {}
  if (!id || text === undefined || text === null || !revision) throw new Error('the statement returned no record')
  return {
    id,
    before: undefined,
    text,
    revision,
    get after() {
      return wholeOf({ id, text, whole: whole ?? null, revision })
    },
  }
}

/** Every column that a new record can set, so that the statement's text does not depend on the request. */
function columnsOf(resource: Resource, columns: Columns): string[] {
  const writable = Object.keys(initialValues(resource)).map(columnOf)
  return [...new Set(['id', ...writable, ...Object.keys(resource.hidden), ...Object.keys(columns)])]
}
