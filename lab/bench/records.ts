import { toAscii, firstNames, lastNames, cities, type Random, jobLevels, rareName, industries, tags } from './people.ts'

/** The owner of the generated records, as UUIDs. */
export interface Owner {
  organizationId: string
  teamId: string
  /** Part of its customer numbers, which makes them unique. */
  number: number
}

/** Values by column, without the organization. */
export type TableRow = Readonly<Record<string, Cell>>
export type Cell = string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>

/** Ids that sort by creation time, like those of the service (RFC 9562, version 7). */
export const uuid = (kind: number, index: number): string => {
  const time = (1_700_000_000_000 + index * 100).toString(16).padStart(12, '0')
  const rest = kind.toString(16).padStart(3, '0')
  const last = index.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}-8000-${last}`
}

export function makeCompany(random: Random, index: number): TableRow {
  const name = `${random.pick(cities)} ${random.pick(industries)} ${index}`
  const domain = `${name.toLowerCase().replaceAll(' ', '-')}.example`
  return {
    id: uuid(3, index),
    name,
    domain,
    domain_key: domain,
    website: `https://www.${domain}`,
    location: random.pick(cities),
    employees_count: random.below(5000),
    founded_year: 1950 + random.below(75),
    industries: [random.pick(industries)],
    languages: ['en'],
    tags: random.pickSome(tags),
    custom_properties: { tier: random.pick(['a', 'b', 'c']) },
    ...times(index),
  }
}

const asciiNames = new Map([...firstNames, ...lastNames].map((name) => [name, toAscii(name)]))

/** Contact `index` of an organization with this many companies; one person in seven has a rare name. */
export function makeContact(random: Random, owner: Owner, index: number, companies: number): TableRow {
  const first = random.pick(firstNames)
  const last = random.below(7) === 0 ? rareName(random) : random.pick(lastNames)
  const host = `${random.pick(cities)}-${random.pick(industries)}.example`
  const email = `${asciiNames.get(first) ?? ''}.${asciiNames.get(last) ?? last}.${index}@${host}`.toLowerCase()
  return {
    id: uuid(4, index),
    root_contact_id: uuid(5, index),
    team_id: owner.teamId,
    company_id: companies > 0 && random.below(10) < 7 ? uuid(3, random.below(companies)) : null,
    email,
    email_key: email,
    first_name: first,
    last_name: last,
    name: `${first} ${last}`,
    phone: random.below(2) === 0 ? `+4930${String(1_000_000 + index).slice(-7)}` : null,
    tags: random.pickSome(tags),
    status: random.below(5) === 0 ? 'archived' : 'active',
    email_opt_out: random.below(20) === 0,
    city: random.pick(cities),
    country_code: random.pick(['DE', 'FR', 'US', 'JP', 'BR']),
    time_zone: 'Europe/Berlin',
    employment_title: `${random.pick(jobLevels)} of ${random.pick(industries)}`,
    last_activity_at: random.below(2) === 0 ? timeOf(random.below(index + 1)) : null,
    custom_properties: {
      plan: random.pick(['free', 'team', 'enterprise']),
      score: random.below(scores),
      tier: index % tiers,
      customerNumber: `K-${owner.number}-${index}`,
    },
    ...times(index),
  }
}

/** Number of values of `score` and of `tier`; each is equally frequent. */
export const scores = 100
export const tiers = 7

/** Half a minute apart: those of five million records are in the past. */
function times(index: number): { created_at: string; updated_at: string } {
  const time = timeOf(index)
  return { created_at: time, updated_at: time }
}

const timeOf = (index: number): string => new Date(1_600_000_000_000 + index * 30_000).toISOString()
