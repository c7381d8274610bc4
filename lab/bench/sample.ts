import type pg from 'pg'
import type { ExistingRecords } from './leads.ts'
import { lastNames } from './people.ts'

/** A random sample of the measured organization, the same in every run. */
export interface Sample extends ExistingRecords {
  /** UUIDs of contacts. */
  ids: string[]
  /** Unique numbers of contacts. */
  customerNumbers: string[]
  /** Rare last names. */
  rareNames: string[]
  /** First and last names of people, to search for. */
  names: string[]
  /** Number of contacts. */
  contacts: number
  /** Deals with their stages (UUIDs). */
  deals: { id: string; stageId: string }[]
  /** UUIDs of contacts with a history. */
  withHistory: string[]
}

/** Maximum sample sizes; ids and values are at most a quarter of the contacts. */
const limits = { ids: 1000, values: 200, companies: 5000 }

/** Errors: there are too few contacts to measure. */
export async function takeSample(client: pg.Client, organizationId: string, emails: number): Promise<Sample> {
  const { rows: counted } = await client.query<{ count: number }>(
    'select count(*)::integer as count from contacts where organization_id = $1',
    [organizationId],
  )
  const contacts = counted[0]?.count ?? 0
  const share = Math.ceil(contacts / 4)
  const sizes = { ...limits, ids: Math.min(limits.ids, share), values: Math.min(limits.values, share) }
  const { rows: people } = await client.query<Person>(
    `select id, email, last_name as "lastName", name, custom_properties ->> 'customerNumber' as "customerNumber"
     from contacts where organization_id = $1 order by md5(id::text) limit $2`,
    [organizationId, Math.max(emails, sizes.ids)],
  )
  const { rows: rare } = await client.query<{ lastName: string }>(
    `select last_name as "lastName" from contacts where organization_id = $1 and last_name <> all($2)
     group by last_name order by md5(last_name) limit $3`,
    [organizationId, lastNames, sizes.values],
  )
  if (people.length === 0 || rare.length === 0)
    throw new Error('There are too few contacts to measure. Increase --contacts.')
  return {
    ids: people.slice(0, sizes.ids).map(({ id }) => id),
    emails: people.map(({ email }) => email),
    customerNumbers: people.slice(0, sizes.values).map(({ customerNumber }) => customerNumber),
    rareNames: rare.map(({ lastName }) => lastName),
    names: people.slice(0, sizes.values).map(({ name }) => name),
    companies: await sampleCompanies(client, organizationId),
    contacts,
    ...(await sampleDeals(client, organizationId)),
  }
}

async function sampleDeals(client: pg.Client, organizationId: string): Promise<Pick<Sample, 'deals' | 'withHistory'>> {
  const { rows: deals } = await client.query<Sample['deals'][number]>(
    `select id, stage_id as "stageId" from deals where organization_id = $1 order by md5(id::text) limit $2`,
    [organizationId, limits.values],
  )
  const { rows: changed } = await client.query<{ id: string }>(
    `select distinct record_id as id from events where organization_id = $1 and resource = 'contact' order by 1 limit $2`,
    [organizationId, limits.values],
  )
  return { deals, withHistory: changed.map(({ id }) => id) }
}

/** Existing people and companies of another organization. */
export async function sampleExisting(
  client: pg.Client,
  organizationId: string,
  emails: number,
): Promise<ExistingRecords> {
  const { rows: people } = await client.query<Pick<Person, 'email'>>(
    'select email from contacts where organization_id = $1 order by md5(id::text) limit $2',
    [organizationId, emails],
  )
  return { emails: people.map(({ email }) => email), companies: await sampleCompanies(client, organizationId) }
}

async function sampleCompanies(client: pg.Client, organizationId: string): Promise<ExistingRecords['companies']> {
  const { rows } = await client.query<ExistingRecords['companies'][number]>(
    'select name, domain from companies where organization_id = $1 order by md5(id::text) limit $2',
    [organizationId, limits.companies],
  )
  return rows
}

interface Person {
  id: string
  email: string
  lastName: string
  name: string
  customerNumber: string
}
