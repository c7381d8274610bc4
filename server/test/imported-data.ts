import type { Database } from '../src/platform/database/database.ts'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import type { SampleLead } from './import-payloads.ts'
import type { Json } from './service.ts'
import type { JsonObject } from '../src/platform/model/json.ts'

/** The records of an organization without ids and times, one JSON line each, sorted for comparison. */
export interface ImportedData {
  contacts: string[]
  companies: string[]
  jobs: string[]
  notes: string[]
}

const lines = (records: readonly unknown[]): string[] => records.map((record) => JSON.stringify(record)).sort()

/** Sorted by name, without null. */
const normalized = (values: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined)
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  )

/** The expected result of importing the leads in any order, computed without the tested code. */
export function expectedData(leads: readonly SampleLead[], tags: readonly string[]): ImportedData {
  const contacts = new Map<number, JsonObject>()
  const companies = new Map<string, JsonObject>()
  const jobs = new Map<string, JsonObject>()
  const notes = new Set<string>()
  for (const { person, payload } of leads) {
    const { note, email, linkedinHandle, externalIdCrm, externalIdBilling, ...fields } = payload.contact
    const { history = [], title, seniority } = payload.employment
    contacts.set(person, {
      ...contacts.get(person),
      ...fields,
      ...(typeof email === 'string' && { email: canonicalAddress(email) }),
      ...(typeof linkedinHandle === 'string' && { linkedinHandle: linkedinHandle.replace('@', '') }),
      ...(externalIdCrm !== undefined && { crm: externalIdCrm }),
      ...(externalIdBilling !== undefined && { billing: externalIdBilling }),
      ...(title !== undefined && { employmentTitle: title }),
      ...(seniority !== undefined && { employmentSeniority: 'senior' }),
      ...(payload.company && { company: payload.company.name }),
      tags: [...tags],
    })
    if (note !== undefined) notes.add(JSON.stringify([person, note]))
    if (payload.company) companies.set(String(payload.company.name), withCompany(companies, payload.company))
    for (const job of history as JsonObject[]) {
      const key = JSON.stringify([person, String(job.organization).toLowerCase(), job.title, job.start])
      const end = job.end ?? jobs.get(key)?.end ?? null
      jobs.set(key, { end, current: end === null })
    }
  }
  return {
    contacts: lines([...contacts].map(([person, fields]) => [person, normalized(fields)])),
    companies: lines([...companies.values()].map(normalized)),
    jobs: lines([...jobs].map(([key, { end, current }]) => [...(JSON.parse(key) as Json[]), end, current])),
    notes: [...notes].sort(),
  }
}

function withCompany(known: Map<string, JsonObject>, company: JsonObject): JsonObject {
  const { tags = [], domain, externalIdCrm, annualRevenue, ...fields } = company
  const before = known.get(String(company.name))
  return {
    ...before,
    ...fields,
    ...(typeof domain === 'string' && { domain: canonicalDomain(domain) }),
    ...(externalIdCrm !== undefined && { crm: externalIdCrm }),
    ...(annualRevenue !== undefined && { annualRevenue: Number(annualRevenue) }),
    tags: [...new Set([...((before?.tags as string[] | undefined) ?? []), ...(tags as string[])])].sort(),
  }
}

/** A person keeps the first of two addresses, so `p12a@…` and `p12b@…` count as the same. */
const canonicalAddress = (email: string): string => email.toLowerCase().replace(/^(p\d+)[ab]@/, '$1@')

const canonicalDomain = (domain: string): string => domain.toLowerCase().replace(/^(mail|www)\./, '')

/** The stored records of an organization; `organizationId` is a UUID. */
export async function storedData(database: Database, organizationId: string): Promise<ImportedData> {
  const read = (statement: Sql) => database.crossTenantQuery<Json>('check the database', statement)
  const contacts = await read(sql`
    select person.id, person.name, nickname, bio, website, location, time_zone as "timeZone", email,
      github_handle as "githubHandle", linkedin_handle as "linkedinHandle", employment_title as "employmentTitle",
      employment_seniority as "employmentSeniority", external_ids ->> 'crm' as crm,
      external_ids ->> 'billing' as billing, tags,
      (select name from companies where companies.organization_id = person.organization_id
        and companies.id = person.company_id) as company
    from contacts person where organization_id = ${organizationId}::uuid and deleted_at is null`)
  const persons = new Map<string, number>()
  for (const { id, crm, billing, email, linkedinHandle } of contacts) {
    persons.set(id, Number(/^p(\d+)/i.exec(crm ?? billing ?? email ?? linkedinHandle)?.[1]))
  }
  const companies = await read(sql`
    select name, domain, website, location, employees_count as "employeesCount", annual_revenue::float8 as "annualRevenue",
      external_ids ->> 'crm' as crm, nullif(stack, '{}') as stack,
      array(select tag from unnest(tags) tag order by tag collate "C") as tags
    from companies where organization_id = ${organizationId}::uuid and deleted_at is null`)
  const jobs = await read(sql`
    select contact_id, lower(organization) as organization, title, "start", "end", "current"
    from employments where organization_id = ${organizationId}::uuid and deleted_at is null`)
  const notes = await read(sql`
    select contact_id, body from notes where organization_id = ${organizationId}::uuid and deleted_at is null`)
  return {
    contacts: lines(
      contacts.map(({ id, email, ...values }) => [
        persons.get(id),
        normalized({ ...values, email: email === null ? null : canonicalAddress(email) }),
      ]),
    ),
    companies: lines(
      companies.map((values) => normalized({ ...values, domain: values.domain && canonicalDomain(values.domain) })),
    ),
    jobs: lines(
      jobs.map((job) => [persons.get(job.contact_id), job.organization, job.title, job.start, job.end, job.current]),
    ),
    notes: lines(notes.map(({ contact_id: id, body }) => [persons.get(id), body])),
  }
}
