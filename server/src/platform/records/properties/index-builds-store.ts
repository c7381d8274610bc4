import { columnOf, type Resource } from '../declare/define.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { serviceActor } from '../../model/caller.ts'
import { identifier, raw, type Sql, sql } from '../../model/sql.ts'
import { definableField } from './values.ts'
import { lockSetsForChange } from './sets.ts'

/** An index that is not complete, or whose entries are to be deleted. */
export interface UnfinishedIndex {
  organizationId: string
  id: string
}

/** `busy`: another process is working on it. `dropped`: its entries are gone, and so is the index. */
export type IndexStep = 'continues' | 'ready' | 'dropped' | 'busy'

interface IndexRow {
  resource: string
  key: string
  type: string
  id_prefix: string
  state: 'building' | 'dropped'
  built_to: string
}

export const findUnfinishedIndexes = (database: Database): Promise<UnfinishedIndex[]> =>
  database.crossTenantQuery<UnfinishedIndex>(
    'maintain indexes of properties',
    sql`select organization_id as "organizationId", id from property_indexes
      where state <> 'ready' order by organization_id, id limit 1000`,
  )

/**
 * Indexes or removes the values of the next `limit` records, and stores the progress with them. The lock of the index
 * makes other processes skip it, and ends with the process.
 *
 * No write is missed: each write locks the definitions of its resource, and declaring the index waited for all of those
 * before it. Later ones maintain the index themselves. A record is locked while it is indexed, so that a concurrent
 * change comes completely before or after.
 */
export async function takeIndexStep(
  database: Database,
  definable: readonly Resource[],
  { organizationId, id }: UnfinishedIndex,
  limit: number,
): Promise<IndexStep> {
  const actor = serviceActor('maintenance', organizationId)
  const step = await database.transaction(actor, async (transaction) => {
    const [index] = await transaction.query<IndexRow>(sql`
      select resource, key, type, id_prefix, state, built_to from property_indexes
      where organization_id = ${transaction.organization} and id = ${id}::uuid and state <> 'ready'
      for update skip locked`)
    if (!index) return 'busy'
    if (index.state === 'dropped') return removeEntries(transaction, id, limit)
    const resource = definable.find(({ table }) => table === index.resource)
    if (!resource) throw new Error(`${index.resource} have no definable properties`)
    return addEntries(transaction, resource, { ...index, id }, limit)
  })
  return step === 'complete' ? database.transaction(actor, (transaction) => markReady(transaction, id)) : step
}

async function addEntries(
  transaction: Transaction,
  resource: Resource,
  { id, key, type, id_prefix: idPrefix, built_to: builtTo }: IndexRow & { id: string },
  limit: number,
): Promise<'continues' | 'complete'> {
  const { organization } = transaction
  const value = sql`${identifier(columnOf(definableField(resource) ?? ''))} -> ${key}::text`
  const remaining = (columns: Sql) => sql`select ${columns} from ${identifier(resource.table)}
    where organization_id = ${organization} and deleted_at is null and id > ${builtTo}::uuid`
  const [step] = await transaction.query<{ count: number }>(sql`
    with batch as materialized (
      ${remaining(sql`id, created_at, ${value} as value`)} order by id limit ${limit} for share),
    added as (
      insert into property_entries (organization_id, record_id, index_id, value_hash, number, text, created_at)
      select ${organization}, batch.id, ${id}::uuid, entry.value_hash, entry.number, entry.text, batch.created_at
      from batch cross join lateral property_values_of(${id}::uuid, ${type}, ${idPrefix}, batch.value) entry
      on conflict do nothing),
    progress as (
      update property_indexes set built_to = (select id from batch order by id desc limit 1)
      where organization_id = ${organization} and id = ${id}::uuid and exists (select from batch))
    select count(*)::integer as count from batch`)
  if (step && step.count > 0) return 'continues'
  // The batch is also empty if all its records were deleted while it waited for their locks.
  const rest = await transaction.query(sql`${remaining(raw('id'))} limit 1`)
  return rest.length > 0 ? 'continues' : 'complete'
}

/** Lets filters use the index, in all processes. */
async function markReady(transaction: Transaction, id: string): Promise<IndexStep> {
  const { organization } = transaction
  const [index] = await transaction.query<{ resource: string }>(sql`
    select resource from property_indexes where organization_id = ${organization} and id = ${id}::uuid`)
  if (!index) return 'busy'
  // In the order in which a change of the definition locks them.
  await lockSetsForChange(transaction, [index.resource])
  const marked = await transaction.query(sql`
    update property_indexes set state = 'ready'
    where organization_id = ${organization} and id = ${id}::uuid and state = 'building' returning id`)
  if (marked.length === 0) return 'busy'
  await transaction.query(sql`
    update property_sets set revision = revision + 1, definitions = (
      select jsonb_agg(
        case when definition #>> '{index,id}' = ${id}
          then jsonb_set(definition, '{index,isReady}', 'true') else definition end order by place)
      from jsonb_array_elements(definitions) with ordinality as each(definition, place))
    where organization_id = ${organization} and resource = ${index.resource}`)
  return 'ready'
}

async function removeEntries(transaction: Transaction, id: string, limit: number): Promise<'continues' | 'dropped'> {
  const { organization } = transaction
  const removed = await transaction.query(sql`
    delete from property_entries where organization_id = ${organization} and ctid = any(array(
      select ctid from property_entries where organization_id = ${organization} and index_id = ${id}::uuid
      limit ${limit})) returning 1`)
  if (removed.length === limit) return 'continues'
  await transaction.query(sql`
    delete from property_indexes where organization_id = ${organization} and id = ${id}::uuid`)
  return 'dropped'
}
