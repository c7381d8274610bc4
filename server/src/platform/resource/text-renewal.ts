import type { Database, Transaction } from '../database/database.ts'
import { sqlState } from '../database/failures.ts'
import { serviceActor } from '../model/caller.ts'
import { columnOf, type Resource } from '../model/define.ts'
import { identifier, join, onShard, raw, type Sql, sql } from '../model/sql.ts'
import { definableField } from './declared-values.ts'
import { uniqueOwner, uniqueTable, uniqueValueSql } from './unique-values.ts'

// Earlier releases stored texts as they were sent, and folded fewer characters. What they stored is renewed once.

export async function areTextsRenewed(database: Database, organizationId: string): Promise<boolean> {
  const [row] = await database.crossTenantQuery<{ renewed: boolean }>(
    'renew texts',
    sql`select exists (select from text_renewals where organization_id = ${organizationId}::uuid) as renewed`,
  )
  return row?.renewed ?? false
}

export const markTextsRenewed = (database: Database, organizationId: string): Promise<unknown> =>
  database.crossTenantQuery(
    'renew texts',
    sql`insert into text_renewals (organization_id) values (${organizationId}::uuid) on conflict do nothing returning organization_id`,
  )

export interface RenewalRange {
  organizationId: string
  after: string | undefined
  limit: number
}

/** Renews those of the next `limit` records that need it. `last`: where the next step starts; undefined at the end. */
export async function renewTexts(
  database: Database,
  resource: Resource,
  { organizationId, after = '00000000-0000-0000-0000-000000000000', limit }: RenewalRange,
): Promise<{ last: string | undefined; renewed: number }> {
  try {
    return await database.transaction(serviceActor('maintenance', organizationId), async (transaction) => {
      const { organization } = transaction
      const scanned = await transaction.query<{ id: string }>(sql`
        select id from ${identifier(resource.table)}
        where organization_id = ${organization} and id > ${after}::uuid order by id limit ${limit}`)
      const ids = scanned.map(({ id }) => id)
      const renewed = ids.length === 0 ? [] : await renewRecords(transaction, resource, ids)
      return { last: ids.at(-1), renewed: renewed.length }
    })
  } catch (error) {
    // Two names that are equal now: both stay as they are.
    if (sqlState(error) !== '23505') throw error
    if (limit === 1) return { last: await idAfter(database, resource, organizationId, after), renewed: 0 }
    return renewTexts(database, resource, { organizationId, after, limit: 1 })
  }
}

async function idAfter(
  database: Database,
  resource: Resource,
  organizationId: string,
  after: string,
): Promise<string | undefined> {
  const [row] = await database.crossTenantQuery<{ id: string }>(
    'renew texts',
    sql`select id from ${identifier(resource.table)}
      where organization_id = ${organizationId}::uuid and id > ${after}::uuid order by id limit 1`,
  )
  return row?.id
}

async function renewRecords(
  transaction: Transaction,
  resource: Resource,
  ids: readonly string[],
): Promise<readonly { id: string }[]> {
  const columns = textColumns(resource)
  const folded = await foldedColumn(transaction, resource)
  const stale = columns.map(({ name, composed }) => sql`${name} is distinct from ${composed}`)
  if (folded) stale.push(sql`search <> (${folded})`)
  if (stale.length === 0) return []
  const renewed = await transaction.query<{ id: string }>(
    onShard(
      resource.table,
      sql`update ${identifier(resource.table)}
        set ${join(
          columns.map(({ name, composed }) => sql`${name} = ${composed}`),
          ', ',
        )}
        where organization_id = ${transaction.organization} and id = any(${ids}::uuid[]) and (${join(stale, ' or ')})
        returning id`,
    ),
  )
  const changed = renewed.map(({ id }) => id)
  if (changed.length > 0 && 'externalIds' in resource.fields) await renewExternalIds(transaction, resource, changed)
  if (definableField(resource) !== undefined) await renewProperties(transaction, resource, ids, changed)
  return renewed
}

function textColumns({ fields }: Resource): { name: Sql; composed: Sql }[] {
  return Object.entries(fields).flatMap(([fieldName, { databaseType, computed, type }]) => {
    const name = identifier(columnOf(fieldName))
    if (computed) return []
    if (type === 'domain') return [{ name, composed: sql`regexp_replace(${name}, '^(www\\.)+(?=[^.]+\\.[^.])', '')` }]
    if (databaseType === 'text') return [{ name, composed: sql`normalize(${name})` }]
    if (databaseType === 'jsonb') return [{ name, composed: sql`normalize(${name}::text)::jsonb` }]
    if (databaseType !== 'text[]') return []
    return [{ name, composed: sql`string_to_array(normalize(array_to_string(${name}, E'\\x01')), E'\\x01')` }]
  })
}

/** The expression that PostgreSQL generates the search column with; undefined if there is none. */
async function foldedColumn(transaction: Transaction, { table }: Resource): Promise<Sql | undefined> {
  const [row] = await transaction.query<{ expression: string }>(sql`
    select pg_get_expr(adbin, adrelid) as expression from pg_attrdef
    join pg_attribute on attrelid = adrelid and attnum = adnum
    where adrelid = ${table}::regclass and attname = 'search' and ${transaction.organization} is not null`)
  return row && raw(row.expression)
}

async function renewExternalIds(transaction: Transaction, resource: Resource, ids: readonly string[]): Promise<void> {
  const table = identifier(`${resource.singular}_external_ids`)
  const ofTeam = raw('teamId' in resource.fields ? 'and other.team_id = held.team_id' : '')
  await transaction.query(
    onShard(
      resource.table,
      sql`update ${table} held set value = normalize(value)
        where organization_id = ${transaction.organization} and ${identifier(`${resource.singular}_id`)} = any(${ids}::uuid[])
          and value is not normalized and not exists (
            select from ${table} other where other.organization_id = ${transaction.organization} ${ofTeam}
              and other.provider = held.provider and other.value = normalize(held.value))
        returning value`,
    ),
  )
}

async function renewProperties(
  transaction: Transaction,
  resource: Resource,
  ids: readonly string[],
  changed: readonly string[],
): Promise<void> {
  const { organization } = transaction
  const properties = sql`${identifier(columnOf(definableField(resource) ?? ''))}`
  const send = (statement: Sql) => transaction.query(onShard(resource.table, statement))
  await send(sql`
    insert into ${uniqueTable(resource)} (organization_id, property_id, value, ${uniqueOwner(resource)})
    select ${organization}, (definition ->> 'id')::uuid,
      ${uniqueValueSql(sql`definition ->> 'type'`, sql`(${properties} -> (definition ->> 'key'))`)}, record.id
    from property_sets, jsonb_array_elements(definitions) definition, ${identifier(resource.table)} record
    where property_sets.organization_id = ${organization} and resource = ${resource.table}
      and (definition ->> 'unique')::boolean and record.organization_id = ${organization}
      and record.id = any(${ids}::uuid[]) and record.deleted_at is null
      and coalesce(${properties} -> (definition ->> 'key'), 'null') <> 'null'
    on conflict do nothing returning property_id`)
  const ofTexts = sql`(select id from property_indexes where organization_id = ${organization}
    and resource = ${resource.table} and state <> 'dropped' and type not in ('number', 'boolean', 'date', 'instant', 'money'))`
  await send(sql`update property_entries set text = sort_key(text)
    where organization_id = ${organization} and record_id = any(${ids}::uuid[]) and index_id in ${ofTexts}
      and text <> sort_key(text) returning index_id`)
  if (changed.length === 0) return
  await send(sql`delete from property_entries
    where organization_id = ${organization} and record_id = any(${changed}::uuid[]) and index_id in ${ofTexts} returning index_id`)
  await send(sql`
    insert into property_entries (organization_id, record_id, index_id, value_hash, number, text, created_at)
    select ${organization}, record.id, property_indexes.id, entry.value_hash, entry.number, entry.text, record.created_at
    from property_indexes, ${identifier(resource.table)} record
    cross join lateral property_values_of(property_indexes.id, type, id_prefix, ${properties} -> key) entry
    where property_indexes.organization_id = ${organization} and property_indexes.id in ${ofTexts}
      and record.organization_id = ${organization} and record.id = any(${changed}::uuid[]) and record.deleted_at is null
    on conflict do nothing returning index_id`)
}
