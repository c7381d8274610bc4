import { createHash } from 'node:crypto'
import type { Connection, Transaction } from '../../platform/database/database.ts'
import { entriesOf, storedEntries } from '../../platform/records/declare/address-lists.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { identifier, raw, sql } from '../../platform/model/sql.ts'
import type { WrittenRecord } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** The kinds of example records, in an order in which they can be locked and deleted. */
export const kinds = ['tasks', 'notes', 'deals', 'contacts', 'companies'] as const
export type Kind = (typeof kinds)[number]
export type Counts = Record<Kind, number>

/** False if there are example data already, or another request is creating them: it then waits for that one. */
export async function beginExamples(transaction: Transaction): Promise<boolean> {
  const begun = await transaction.query(sql`
    insert into example_records (organization_id, record_id, kind)
    values (${transaction.organization}, ${transaction.organization}, 'set')
    on conflict do nothing returning kind`)
  return begun.length > 0
}

/** Those of the names (domains, email addresses) that records have: an example that somebody has made their own. */
export async function findTaken(
  transaction: Transaction,
  kind: 'companies' | 'contacts',
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const key = identifier(kind === 'companies' ? 'domain_key' : 'email_key')
  const further = sql`
    union all select email_key from contact_emails
    where organization_id = ${transaction.organization} and email_key = any(${names}::text[])`
  // Lower-case ASCII without subdomains, so that each is its own key.
  const rows = await transaction.query<{ key: string }>(sql`
    select ${key} as key from ${identifier(kind)}
    where organization_id = ${transaction.organization} and ${key} = any(${names}::text[]) and deleted_at is null
    ${kind === 'contacts' ? further : raw('')}`)
  return new Set(rows.map((row) => row.key))
}

/** Remembers records as example data, as they are now. */
export async function storeExamples(
  transaction: Transaction,
  kind: Kind,
  resource: Resource,
  written: readonly WrittenRecord[],
): Promise<void> {
  const ids = written.map(({ id }) => id)
  const contents = written.map(({ after }) => contentOf(resource, after))
  await transaction.query(sql`
    insert into example_records (organization_id, record_id, kind, content)
    select ${transaction.organization}, record.id, ${kind}, decode(record.content, 'hex')
    from unnest(${ids}::uuid[], ${contents}::text[]) record (id, content)`)
}

/** Ticking a task off and moving a deal on the board are play; everything else makes a record somebody's own. */
const playedWith: ReadonlySet<string> = new Set(['done', 'stageId', 'pipelineId', 'lostReason'])

/** Fields that release 0.1.0 did not have, and that its hashes do not contain: they count when they have a value. */
const unknownBefore: Readonly<Record<string, readonly string[]>> = {
  contacts: ['street', 'postalCode'],
  companies: ['street', 'postalCode', 'city', 'state', 'countryCode'],
}

/** A hash of what people can change of a record. */
export function contentOf(resource: Resource, record: JsonObject): string {
  const names = Object.keys(resource.fields).filter(
    (name) =>
      resource.fields[name]?.writable === true &&
      !playedWith.has(name) &&
      !isImplied(resource, name, record) &&
      ((record[name] ?? null) !== null || !unknownBefore[resource.name]?.includes(name)),
  )
  const values = names.sort().map((name) => record[name] ?? null)
  return createHash('sha256').update(JSON.stringify(values)).digest('hex')
}

/** Does the list say no more than the field with the primary address? Release 0.1.0 had no lists. */
const isImplied = ({ fields }: Resource, name: string, record: JsonObject): boolean => {
  const list = fields[name]?.list
  return list !== undefined && storedEntries(list, entriesOf(list, name, record)) === null
}

/** How many example records of each kind there are, without those that were deleted. */
export async function countExamples(db: Connection): Promise<Counts> {
  const counts: Counts = { tasks: 0, notes: 0, deals: 0, contacts: 0, companies: 0 }
  for (const kind of kinds) {
    const [row] = await db.query<{ count: number }>(sql`
      select count(*)::int as count from example_records example
      join ${identifier(kind)} record on record.organization_id = example.organization_id and record.id = example.record_id
      where example.organization_id = ${db.organization} and example.kind = ${kind} and record.deleted_at is null`)
    counts[kind] = row?.count ?? 0
  }
  return counts
}

export interface Example {
  id: string
  kind: Kind
  content: string
}

/** Forgets what example data there were, and returns those that still exist. */
export async function takeExamples(transaction: Transaction): Promise<Example[]> {
  const taken = await transaction.query<Example>(sql`
    delete from example_records where organization_id = ${transaction.organization}
    returning record_id as id, kind, encode(content, 'hex') as content`)
  const existing: Example[] = []
  for (const kind of kinds) {
    const ofKind = taken.filter((example) => example.kind === kind)
    const found = await transaction.query<{ id: string }>(
      kind === 'tasks' || kind === 'notes'
        ? // They are not found while what they are on is deleted.
          sql`select record.id from ${identifier(kind)} record
            left join contacts contact on contact.organization_id = record.organization_id and contact.id = record.contact_id
            where record.organization_id = ${transaction.organization} and record.id = any(${ofKind.map(({ id }) => id)}::uuid[])
              and record.deleted_at is null and contact.deleted_at is null`
        : sql`select id from ${identifier(kind)} where organization_id = ${transaction.organization}
            and id = any(${ofKind.map(({ id }) => id)}::uuid[]) and deleted_at is null`,
    )
    const ids = new Set(found.map(({ id }) => id))
    existing.push(...ofKind.filter(({ id }) => ids.has(id)))
  }
  return existing
}

/** One record that refers to another one (uuids). */
export interface Link {
  from: string
  to: string
}

/** What refers to these records, whatever it is. */
export const findLinks = (transaction: Transaction, ids: readonly string[]): Promise<Link[]> =>
  transaction.query<Link>(sql`
    with wanted as (select unnest(${ids}::uuid[]) as id), links as (
      select id as "from", contact_id as "to" from tasks where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, company_id from tasks where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, deal_id from tasks where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, contact_id from notes where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, company_id from notes where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, deal_id from notes where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, company_id from contacts where organization_id = ${transaction.organization} and deleted_at is null
      union all select id, company_id from deals where organization_id = ${transaction.organization} and deleted_at is null
      union all select deal_id, contact_id from deal_contacts where organization_id = ${transaction.organization}
    )
    select links."from", links."to" from links join wanted on wanted.id = links."to"`)

/** The open stages (uuids) of the oldest pipeline, in their order. */
export async function findOpenStages(db: Connection): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select stage.id from stages stage
    join (
      select id from pipelines where organization_id = ${db.organization} and deleted_at is null
      order by created_at, id limit 1
    ) pipeline on pipeline.id = stage.pipeline_id
    where stage.organization_id = ${db.organization} and stage.deleted_at is null and stage.kind = 'open'
    order by stage.position`)
  return rows.map(({ id }) => id)
}
