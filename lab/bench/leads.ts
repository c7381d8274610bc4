import type { JsonObject } from '../../server/src/platform/model/fields.ts'
import { ascii, firstNames, lastNames, places, Random, ranks, trades } from './people.ts'

/** People and companies that there are, as a lead may name them. */
export interface Known {
  emails: readonly string[]
  companies: readonly Employer[]
}

interface Employer {
  name: string
  domain: string
}

/** New people of a queue that share one new company. */
const peopleOfNewCompany = 5

/**
 * As many leads as are asked for, the same ones at every run: each second one is about one of the `emails`, whose company
 * is there too; the others are new people, at new companies. `first` is a number that no other queue reaches.
 */
export function makeQueue({ emails, companies }: Known, size: number, first: number): JsonObject[] {
  const random = new Random(first)
  const newCompanies = Math.ceil(size / 2 / peopleOfNewCompany)
  return Array.from({ length: size }, (_, index) => {
    const key = String(first + index)
    const email = index % 2 === 1 ? emails[index >> 1] : undefined
    const known = companies[random.below(companies.length)]
    if (email !== undefined && known) return makeLead(random, { key, email, company: known })
    const number = first + (index % newCompanies)
    return makeLead(random, { key, company: { name: `Acme ${number} Ltd`, domain: `acme-${number}.example` } })
  })
}

/** So many people of a list for a round, no one twice; the next round goes on behind them, and at the end begins again. */
export function peopleOf(emails: readonly string[], round: number, most: number): string[] {
  const count = Math.min(most, emails.length)
  return Array.from({ length: count }, (_, index) => emails[(round * count + index) % emails.length] ?? '')
}

/** Leads about new people at companies that there are, with `key` where each push needs another text. */
export const makeTemplates = ({ companies }: Known, count: number, key: string): JsonObject[] => {
  const random = new Random(count)
  return Array.from({ length: count }, (_, index) => {
    const company = companies[index % companies.length]
    if (!company) throw new Error('there is a company at least')
    return makeLead(random, { key, company })
  })
}

/** What a form with an enrichment behind it pushes, about 600 bytes: a person, their job and their employer. */
function makeLead(random: Random, { key, email, company }: { key: string; email?: string; company: Employer }) {
  const [first, last] = [random.one(firstNames), random.one(lastNames)]
  const handle = `${ascii(first)}-${ascii(last)}-${key}`
  const title = `${random.one(ranks)} of ${random.one(trades)}`
  const start = `${2010 + random.below(15)}-0${1 + random.below(9)}`
  return {
    contact: {
      email: email ?? `${handle}@people.example`,
      name: `${first} ${last}`,
      location: random.one(places),
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
      location: random.one(places),
      employeesCount: random.below(5000),
      foundedYear: 1950 + random.below(75),
      industries: [random.one(trades)],
      languages: ['en', 'de'],
    },
  }
}
