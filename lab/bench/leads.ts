import { toAscii, firstNames, lastNames, cities, Random, jobLevels, industries } from './people.ts'
import type { JsonObject } from '../../server/src/platform/model/json.ts'

/** Existing people and companies that leads can refer to. */
export interface ExistingRecords {
  emails: readonly string[]
  companies: readonly Employer[]
}

interface Employer {
  name: string
  domain: string
}

/** Number of new people in a queue who share a new company. */
const peoplePerNewCompany = 5

/**
 * Generates `size` leads, the same in every run. Every second one is about one of the `emails`, at an existing company;
 * the others are new people at new companies. `first` starts a range of numbers that no other queue uses.
 */
export function generateQueue({ emails, companies }: ExistingRecords, size: number, first: number): JsonObject[] {
  const random = new Random(first)
  const newCompanies = Math.ceil(size / 2 / peoplePerNewCompany)
  return Array.from({ length: size }, (_, index) => {
    const key = String(first + index)
    const email = index % 2 === 1 ? emails[index >> 1] : undefined
    const existing = companies[random.below(companies.length)]
    if (email !== undefined && existing) return generateLead(random, { key, email, company: existing })
    const number = first + (index % newCompanies)
    return generateLead(random, { key, company: { name: `Acme ${number} Ltd`, domain: `acme-${number}.example` } })
  })
}

/** Up to `max` different people for a round. Each round continues after the last one and wraps around at the end. */
export function emailsForRound(emails: readonly string[], round: number, max: number): string[] {
  const count = Math.min(max, emails.length)
  return Array.from({ length: count }, (_, index) => emails[(round * count + index) % emails.length] ?? '')
}

/** Leads about new people at existing companies, with `key` where each push needs a unique text. */
export const generateTemplates = ({ companies }: ExistingRecords, count: number, key: string): JsonObject[] => {
  const random = new Random(count)
  return Array.from({ length: count }, (_, index) => {
    const company = companies[index % companies.length]
    if (!company) throw new Error('at least one company must exist')
    return generateLead(random, { key, company })
  })
}

/** A lead like an enriched form pushes it, about 600 bytes: a person, their job and their employer. */
function generateLead(random: Random, { key, email, company }: { key: string; email?: string; company: Employer }) {
  const [first, last] = [random.pick(firstNames), random.pick(lastNames)]
  const handle = `${toAscii(first)}-${toAscii(last)}-${key}`
  const title = `${random.pick(jobLevels)} of ${random.pick(industries)}`
  const start = `${2010 + random.below(15)}-0${1 + random.below(9)}`
  return {
    contact: {
      email: email ?? `${handle}@people.example`,
      name: `${first} ${last}`,
      location: random.pick(cities),
      timeZone: 'Europe/Berlin',
      linkedinHandle: handle,
    },
    employment: {
      title,
      seniority: 'SENIOR',
      history: [{ current: true, start, organization: company.name, title }],
    },
    company: {
      ...company,
      website: `https://www.${company.domain}`,
      location: random.pick(cities),
      employeesCount: random.below(5000),
      foundedYear: 1950 + random.below(75),
      industries: [random.pick(industries)],
      languages: ['en', 'de'],
    },
  }
}
