import type pg from 'pg'
import { dealContacts, deals } from '../../crm/deals/resource.ts'
import { stageMoves } from '../../crm/stage-moves/resource.ts'
import type { Companies, Employer } from './companies.ts'
import { type CopiedTable, copiedTable, plainLine } from './copy-text.ts'
import { type DemoStage, Deals } from './deals.ts'
import type { DemoOptions } from './people.ts'
import { Random } from './random.ts'
import { Timeline } from './timeline.ts'

const contactsPerDeal = 20

/** Copies lines into a table. */
export type Copy = (table: { name: string; columns: readonly string[] }, lines: readonly string[]) => Promise<void>

/**
 * Adds deals, with their contacts, moves and history, and the history of the contacts and companies, which are loaded.
 * Resolves to the number of deals.
 */
export async function fillDeals(
  client: pg.Client,
  options: DemoOptions,
  { companies, copy }: { companies: Companies; copy: Copy },
): Promise<number> {
  const { organizationId, seed, ownerId, end, contacts } = options
  const { rows: stages } = await client.query<DemoStage>(
    'select id, pipeline_id as "pipelineId", name, kind from stages where organization_id = $1 order by position',
    [organizationId],
  )
  const random = new Random(seed + 3)
  const customers = Array.from({ length: Math.ceil(contacts / contactsPerDeal) }, () =>
    random.pick(companies.employers),
  )
  const contactsOf = await readContacts(client, organizationId, customers)
  const made = new Deals(seed, new Timeline(end), stages, `usr_${ownerId.replaceAll('-', '')}`)
  const tables = tablesOf(organizationId)
  const lines = {
    deals: [] as string[],
    deal_contacts: [] as string[],
    stage_moves: [] as string[],
    events: [] as string[],
  }
  for (const [index, employer] of customers.entries()) {
    const {
      deal,
      contacts: links,
      moves,
      changes,
    } = made.make(index, customers.length, {
      employer,
      contacts: contactsOf.get(employer.id) ?? [],
    })
    lines.deals.push(tables.deals.lineOf(deal))
    for (const link of links) lines.deal_contacts.push(tables.deal_contacts.lineOf(link))
    for (const move of moves) lines.stage_moves.push(tables.stage_moves.lineOf(move))
    for (const { id, action, changes: changed, createdAt } of changes) {
      const dealId = String(deal.values.id).slice(4)
      const cells = [organizationId, id, 'deal', 'true', dealId, action, 'person', ownerId, JSON.stringify(changed)]
      lines.events.push(plainLine([...cells, createdAt, notInFeed]))
    }
  }
  for (const name of ['deals', 'deal_contacts', 'stage_moves'] as const)
    await copy({ name, columns: tables[name].columns }, lines[name])
  await copy({ name: 'events', columns: eventColumns }, lines.events)
  for (const statement of [...activity, ...histories]) await client.query(statement, [organizationId])
  return customers.length
}

/** Up to five contacts (uuids) of each company, by the company's id as 32 hex digits. */
async function readContacts(
  client: pg.Client,
  organizationId: string,
  employers: readonly Employer[],
): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ company: string; contacts: string[] }>(
    `select replace(company_id::text, '-', '') as company, (array_agg(id::text order by id))[1:5] as contacts
     from contacts where organization_id = $1 and company_id = any($2::uuid[]) group by company_id`,
    [organizationId, employers.map(({ id }) => id)],
  )
  return new Map(rows.map(({ company, contacts }) => [company, contacts]))
}

/** The position of changes outside of the feed. */
const notInFeed = '0'

const eventColumns = [
  'organization_id',
  'id',
  'resource',
  'is_history',
  'record_id',
  'kind',
  'source',
  'author_id',
  'changes',
  'created_at',
  'position',
] as const

const tablesOf = (organizationId: string): Record<'deals' | 'deal_contacts' | 'stage_moves', CopiedTable> => ({
  deals: copiedTable(deals, organizationId),
  deal_contacts: copiedTable(dealContacts, organizationId),
  stage_moves: copiedTable(stageMoves, organizationId),
})

/** A move of a deal counts as activity of its company and its contacts. */
const activity = [
  `update companies set last_activity_at = active.at
   from (select company_id, max(last_activity_at) as at from deals where organization_id = $1 group by 1) active
   where companies.organization_id = $1 and companies.id = active.company_id
     and (companies.last_activity_at is null or companies.last_activity_at < active.at)`,
  `update contacts set last_activity_at = active.at
   from (
     select contact_id, max(deals.last_activity_at) as at
     from deal_contacts join deals on deals.organization_id = $1 and deals.id = deal_contacts.deal_id
     where deal_contacts.organization_id = $1 group by 1) active
   where contacts.organization_id = $1 and contacts.id = active.contact_id
     and (contacts.last_activity_at is null or contacts.last_activity_at < active.at)`,
]

/** Who created each contact and company, and one later change of those that were changed. */
const histories = [
  `insert into events (organization_id, id, resource, is_history, record_id, kind, source, author_id, changes, import_id,
     created_at, position)
   select organization_id, new_id(), 'contact', true, id, 'created', coalesce(source, 'person'), owner_id, '[]', import_id,
     created_at, ${notInFeed}
   from contacts where organization_id = $1`,
  `insert into events (organization_id, id, resource, is_history, record_id, kind, source, author_id, changes, created_at,
     position)
   select organization_id, new_id(), 'contact', true, id, 'updated', 'person', owner_id,
     jsonb_build_array(jsonb_build_object('field', 'phone', 'before', null, 'after', phone)), updated_at, ${notInFeed}
   from contacts where organization_id = $1 and updated_at > created_at and phone is not null`,
  `insert into events (organization_id, id, resource, is_history, record_id, kind, source, changes, created_at, position)
   select organization_id, new_id(), 'company', true, id, 'created', 'import', '[]', created_at, ${notInFeed}
   from companies where organization_id = $1`,
]
