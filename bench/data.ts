import type pg from 'pg'
import type { Known } from './leads.ts'
import { firstNames, lastNames, places, Random, ranks, trades, words } from './people.ts'

/** What is put into the tables, the same at every run. */
export interface DataOptions {
  client: pg.Client
  contacts: number
  organizations: number
  /** The organization that is measured, as uuid; it has half of the contacts. */
  measured: { organizationId: string; userId: string; teamId: string }
  say: (line: string) => void
}

interface Owner {
  organizationId: string
  teamId: string
  contacts: number
}

const batch = 5000
const contactsPerCompany = 20

/** Fills the tables directly, then lets PostgreSQL learn what is in them. */
export async function fill({ client, contacts, organizations, measured, say }: DataOptions): Promise<void> {
  const began = performance.now()
  const owners = shares(contacts, organizations, measured)
  for (const [index, owner] of owners.entries()) {
    if (index > 0) await insertOwner(client, owner, index, measured.userId)
    await insertRecords(client, owner, new Random(index + 1))
  }
  await client.query('vacuum analyze')
  say(`${contacts} contacts of ${organizations} organizations in ${Math.round((performance.now() - began) / 1000)} s.`)
}

export interface Sample extends Known {
  /** Uuids of contacts. */
  ids: string[]
}

/** What there is in the measured organization, drawn at random but the same at every run. */
export async function sample(client: pg.Client, organizationId: string, most: number): Promise<Sample> {
  // Leads bring plain addresses.
  const { rows: people } = await client.query<{ id: string; email: string }>(
    `select id, email from contacts where organization_id = $1 and email ~ '^[ -~]+$' order by md5(id::text) limit $2`,
    [organizationId, most],
  )
  const { rows: companies } = await client.query<Known['companies'][number]>(
    'select name, domain from companies where organization_id = $1 order by md5(id::text) limit 5000',
    [organizationId],
  )
  return { ids: people.map(({ id }) => id).slice(0, 5000), emails: people.map(({ email }) => email), companies }
}

function shares(contacts: number, organizations: number, measured: Owner | DataOptions['measured']): Owner[] {
  const half = organizations > 1 ? Math.ceil(contacts / 2) : contacts
  const others = Array.from({ length: organizations - 1 }, (_, index) => ({
    organizationId: uuid(1, index + 1),
    teamId: uuid(2, index + 1),
    contacts: Math.floor((contacts - half + index) / (organizations - 1)),
  }))
  return [{ ...measured, contacts: half }, ...others]
}

/** Ids as the service makes them: they sort by the time of making (RFC 9562, version 7). */
const uuid = (kind: number, index: number): string => {
  const time = (1_700_000_000_000 + index * 100).toString(16).padStart(12, '0')
  const rest = kind.toString(16).padStart(3, '0')
  const last = index.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}-8000-${last}`
}

async function insertOwner(client: pg.Client, { organizationId, teamId }: Owner, index: number, userId: string) {
  const name = `Organization ${index}`
  await client.query('insert into organizations (id, name, slug) values ($1, $2, $3)', [
    organizationId,
    name,
    `organization-${index}`,
  ])
  await client.query(
    `insert into teams (organization_id, id, name, is_default) values ($1, $2, 'Default team', true)`,
    [organizationId, teamId],
  )
  await client.query(`insert into members (organization_id, user_id, role) values ($1, $2, 'owner')`, [
    organizationId,
    userId,
  ])
}

async function insertRecords(client: pg.Client, owner: Owner, random: Random): Promise<void> {
  const companies = Math.ceil(owner.contacts / contactsPerCompany)
  for (let first = 0; first < companies; first += batch) {
    await insertBatch(
      client,
      'companies',
      owner,
      range(first, companies, (index) => company(random, index)),
    )
  }
  for (let first = 0; first < owner.contacts; first += batch) {
    await insertContacts(client, owner, random, { first, end: owner.contacts, companies })
  }
}

/** One batch of made-up contacts, numbered from `first` on, below `end`, at so many companies of their organization. */
export async function insertContacts(
  client: pg.Client,
  owner: Omit<Owner, 'contacts'>,
  random: Random,
  { first, end, companies }: { first: number; end: number; companies: number },
): Promise<void> {
  const rows = range(first, end, (index) => contact(random, owner, index, companies))
  const roots = rows.map(({ root_contact_id: id, email_key }) => ({ id, email_key }))
  await insertBatch(client, 'root_contacts', owner, roots)
  await insertBatch(client, 'contacts', owner, rows)
}

const range = <Row>(first: number, end: number, make: (index: number) => Row): Row[] =>
  Array.from({ length: Math.min(batch, end - first) }, (_, offset) => make(first + offset))

async function insertBatch(
  client: pg.Client,
  table: string,
  { organizationId }: Omit<Owner, 'contacts'>,
  rows: readonly object[],
) {
  const columns = Object.keys(rows[0] ?? {})
  const shown = columns.map((column) => `row.${column}`).join(', ')
  await client.query(
    `insert into ${table} (organization_id, ${columns.join(', ')})
     select $1, ${shown} from jsonb_populate_recordset(null::${table}, $2) row`,
    [organizationId, JSON.stringify(rows)],
  )
}

function company(random: Random, index: number) {
  const name = `${random.one(places)} ${random.one(trades)} ${index}`
  const domain = `${name.toLowerCase().replaceAll(' ', '-')}.example`
  return {
    id: uuid(3, index),
    name,
    domain,
    domain_key: domain,
    website: `https://www.${domain}`,
    location: random.one(places),
    employees_count: random.below(5000),
    founded_year: 1950 + random.below(75),
    industries: [random.one(trades)],
    languages: ['en'],
    stack: [],
    tags: random.some(words),
    external_ids: {},
    custom_properties: {},
    revision: 1,
    ...times(index),
  }
}

function contact(random: Random, owner: Omit<Owner, 'contacts'>, index: number, companies: number) {
  const [first, last] = [random.one(firstNames), random.one(lastNames)]
  const email = `${first}.${last}.${index}@example.com`.toLowerCase()
  return {
    id: uuid(4, index),
    root_contact_id: uuid(5, index),
    team_id: owner.teamId,
    company_id: random.below(10) < 7 ? uuid(3, random.below(companies)) : null,
    email,
    email_key: email,
    first_name: first,
    last_name: last,
    name: `${first} ${last}`,
    phone: random.below(2) === 0 ? `+4930${String(1_000_000 + index).slice(-7)}` : null,
    tags: random.some(words),
    status: random.below(5) === 0 ? 'archived' : 'active',
    email_opt_out: random.below(20) === 0,
    city: random.one(places),
    country_code: random.one(['DE', 'FR', 'US', 'JP', 'BR']),
    time_zone: 'Europe/Berlin',
    employment_title: `${random.one(ranks)} of ${random.one(trades)}`,
    last_activity_at: random.below(2) === 0 ? times(random.below(index + 1)).created_at : null,
    custom_properties: { plan: random.one(['free', 'team', 'enterprise']), score: random.below(100) },
    external_ids: {},
    revision: 1,
    ...times(index),
  }
}

/** A minute apart. */
function times(index: number): { created_at: string; updated_at: string } {
  const time = new Date(1_600_000_000_000 + index * 60_000).toISOString()
  return { created_at: time, updated_at: time }
}
