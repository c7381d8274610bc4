import type { Connection, Transaction } from '../../database/database.ts'
import { declaredProperty } from './property.ts'
import type { Resource } from '../declare/define.ts'
import { type Parameter, prepared, type Sql, sql } from '../../model/sql.ts'
import type { PropertyDefinition, PropertySet } from '../declare/field.ts'

interface StoredSet {
  resource: string
  revision: number
  refuses_undeclared: boolean
  /** Null if the caller knows this revision. */
  definitions: PropertyDefinition[] | null
}

/** The sets that this process has read, the one used longest ago first. Any of them may be out of date. */
const known = new Map<string, PropertySet>()
const maxKnown = 3000
/** A revision that no set has. */
const noRevision = -1

const keyOf = (organizationId: string, table: string): string => `${organizationId} ${table}`

/** The set that this process read last; undefined if it has none. The statement that uses it must check its revision. */
export function lastKnownSet({ organizationId }: Connection, { table }: Resource): PropertySet | undefined {
  return known.get(keyOf(organizationId, table))
}

/** When a statement found a set out of date (milliseconds), by set. */
const outdatedAt = new Map<string, number>()
/** For this many milliseconds, a set that was out of date is locked before it is used. */
const settling = 1000

/** Has the next write read the set again. */
export function forgetSet({ organizationId }: Connection, { table }: Resource): void {
  const key = keyOf(organizationId, table)
  known.delete(key)
  if (outdatedAt.size >= maxKnown) outdatedAt.clear()
  outdatedAt.set(key, performance.now())
}

/** Have the definitions just changed, so that a statement with known ones may have to be repeated again and again? */
export const isSettling = ({ organizationId }: Connection, { table }: Resource): boolean =>
  performance.now() - (outdatedAt.get(keyOf(organizationId, table)) ?? -settling) < settling

/**
 * A common table expression with a row if this is still the current revision, which then stays it until the transaction
 * ends.
 */
export const currentSetSql = (organization: Sql, { table }: Resource, revision: Parameter): Sql => sql`
  select revision from property_sets
  where organization_id = ${organization} and resource = ${table} and revision = ${revision}::integer for key share`

/** The current definitions, which stay the same until the transaction ends. */
export async function lockPropertySet(transaction: Transaction, resource: Resource): Promise<PropertySet> {
  const { organization } = transaction
  const { table } = resource
  const before = lastKnownSet(transaction, resource)
  const read = () =>
    transaction.query<StoredSet>(
      prepared(sql`
      select resource, revision, refuses_undeclared,
        case when revision <> ${before?.revision ?? noRevision}::integer then definitions end as definitions
      from property_sets where organization_id = ${organization} and resource = ${table} for key share`),
    )
  const [found] = await read()
  if (found) return remember(transaction, found, before)
  // The first write of this resource in the organization.
  await insertSets(transaction, [table])
  const [created] = await read()
  if (!created) throw new Error('the definitions of the properties were not created')
  return remember(transaction, created, before)
}

/** The current definitions of these resources, by table. Those of a resource that nobody has written are missing. */
export async function readPropertySets(
  db: Connection,
  resources: readonly Resource[],
): Promise<ReadonlyMap<string, PropertySet>> {
  const before = new Map(resources.map((resource) => [resource.table, lastKnownSet(db, resource)]))
  const wanted = [...before].map(([table, set]) => ({ resource: table, known: set?.revision ?? noRevision }))
  const rows = await db.query<StoredSet>(sql`
    select resource, revision, refuses_undeclared, case when revision <> known then definitions end as definitions
    from property_sets join jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as wanted(resource text, known integer)
      using (resource)
    where organization_id = ${db.organization}`)
  return new Map(rows.map((row) => [row.resource, remember(db, row, before.get(row.resource))]))
}

/** Locks the definitions of these tables for a change, until the transaction ends: no record is written meanwhile. */
export async function lockSetsForChange(transaction: Transaction, tables: readonly string[]): Promise<void> {
  await insertSets(transaction, tables)
  await transaction.query(sql`
    select from property_sets where organization_id = ${transaction.organization} and resource = any(${tables}::text[])
    order by resource for update`)
}

/** Replaces the definitions of a table, whose set is locked. */
export async function storeDefinitions(
  transaction: Transaction,
  table: string,
  definitions: readonly PropertyDefinition[],
): Promise<void> {
  await transaction.query(sql`
    update property_sets set revision = revision + 1, definitions = ${JSON.stringify(definitions)}::jsonb
    where organization_id = ${transaction.organization} and resource = ${table}`)
}

/** Stores whether keys without a definition are refused in a table, whose set is locked. */
export async function storeUndeclared(transaction: Transaction, table: string, isRefused: boolean): Promise<void> {
  await transaction.query(sql`
    update property_sets set revision = revision + 1, refuses_undeclared = ${isRefused}
    where organization_id = ${transaction.organization} and resource = ${table}`)
}

async function insertSets({ query, organization }: Transaction, tables: readonly string[]): Promise<void> {
  await query(sql`
    insert into property_sets (organization_id, resource)
    select ${organization}, resource from unnest(${tables}::text[]) resource order by resource on conflict do nothing`)
}

/** `before`: the set whose revision the statement named. */
function remember({ organizationId }: Connection, row: StoredSet, before: PropertySet | undefined): PropertySet {
  const set = row.definitions || !before ? setOf(row) : before
  const key = keyOf(organizationId, row.resource)
  const current = known.get(key)
  known.delete(key)
  known.set(key, current && current.revision > set.revision ? current : set)
  if (known.size > maxKnown)
    for (const oldest of [...known.keys()].slice(0, known.size - maxKnown)) known.delete(oldest)
  return set
}

function setOf({ revision, refuses_undeclared: refusesUndeclared, definitions }: StoredSet): PropertySet {
  const properties = (definitions ?? []).map((definition) => [definition.key, declaredProperty(definition)] as const)
  return { revision, refusesUndeclared, properties: new Map(properties) }
}
