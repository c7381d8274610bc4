import { domainToASCII } from 'node:url'
import { domainKey } from '../../crm/companies/resource.ts'
import type { GeneratedRecord } from './generated-record.ts'
import type { Town } from './places.ts'
import { itemAt, type Random } from './random.ts'
import { idAt, formatInstant, type Timeline } from './timeline.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const peoplePerCompany = 15

/** What contacts need to know about their company. */
export interface Employer {
  id: string
  name: string
  place: Town
  /** As stored: in ASCII. */
  domain: string
  /** As in the email addresses of its people. */
  host: string
  createdAt: number
}

/** The companies of a demo, ordered by age and size: the first ones are the oldest and biggest. */
export class Companies {
  readonly employers: readonly Employer[]
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #domains = new Set<string>()

  constructor(
    contacts: number,
    { weightedPlaces, random, timeline }: { weightedPlaces: readonly Town[]; random: Random; timeline: Timeline },
  ) {
    this.#random = random
    this.#timeline = timeline
    const count = Math.ceil(contacts / peoplePerCompany)
    this.employers = Array.from({ length: count }, (_, index) =>
      this.#createEmployer(random.pick(weightedPlaces), timeline.timeAtShare((index + random.next()) / count)),
    )
  }

  #createEmployer(place: Town, createdAt: number): Employer {
    const { companies, men } = place.language
    const random = this.#random
    const [first, second] = [random.pick(men.lastNames), random.pick(men.lastNames)]
    const companyName = random.chance(0.6) ? random.pick(companies) : `${first.text} & ${second.text}`
    const slug = companyName
      .normalize('NFD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[a-z0-9]{2,}/g)
    const label = (slug ?? [first.latin, second.latin]).join('-')
    const nativeLabel = companyName.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, '')
    // Some domains use native letters, unless the rules of domain names reject them.
    const usesNativeLabel = random.chance(0.04) && domainToASCII(`${nativeLabel}.example`) !== ''
    let host = ''
    const domain = firstUnused(this.#domains, (number) => {
      host = `${usesNativeLabel ? nativeLabel : label}${number}.example`
      return domainToASCII(host)
    })
    return { id: idAt(createdAt), name: companyName, place, domain, host, createdAt }
  }

  /** The complete record. */
  make(index: number): GeneratedRecord {
    const employer = itemAt(this.employers, index)
    const { id, domain, createdAt } = employer
    const [random, timeline] = [this.#random, this.#timeline]
    const changes = random.chance(0.3) ? 1 + random.integerBelow(5) : 0
    const updatedAt = changes === 0 ? createdAt : timeline.between(createdAt, timeline.end, random.next())
    const activeAt = random.chance(0.6) ? timeline.between(createdAt, timeline.end, random.next()) : null
    const hasDomain = random.chance(0.92)
    const employees = Math.ceil(20 * (this.employers.length / (index + 1)) ** 0.75 * (0.5 + random.next()))
    const values: JsonObject = {
      id: `com_${id}`,
      name: employer.name,
      domain: hasDomain ? domain : null,
      website: hasDomain && random.chance(0.8) ? `https://www.${domain}` : null,
      ...optionalFields(random, employer, employees),
      tags: tagsOf(random),
      lastActivityAt: activeAt === null ? null : formatInstant(activeAt),
      createdAt: formatInstant(createdAt),
      updatedAt: formatInstant(updatedAt),
    }
    return { values, hidden: { domain_key: hasDomain ? domainKey(domain) : null }, revision: 1 + changes }
  }
}

/** The first unused text: without a number or with the lowest free one. */
export function firstUnused(taken: Set<string>, make: (number: string) => string): string {
  for (let number = 1; ; number++) {
    const text = make(number === 1 ? '' : String(number))
    if (!taken.has(text)) {
      taken.add(text)
      return text
    }
  }
}

const tags = ['newsletter', 'customer', 'lead', 'partner', 'fair', 'vip', 'Händler', 'à relancer', 'señal', 'клиент']

/** Zero to three tags; the first ones are more frequent. */
export const tagsOf = (random: Random): string[] => [
  ...new Set(Array.from({ length: Math.floor(random.next() ** 1.5 * 4) }, () => random.pickSkewed(tags))),
]

const industries = ['manufacturing', 'retail', 'software', 'logistics', 'food', 'energy', 'health', 'media', 'tourism']
const stacks = ['PostgreSQL', 'SAP', 'Shopify', 'WordPress', 'Kubernetes', 'Excel', 'Odoo']
const stages = ['bootstrapped', 'seed', 'series_a', 'series_b', 'public']

function optionalFields(random: Random, { place, domain, createdAt }: Employer, employees: number): JsonObject {
  const founded = new Date(createdAt).getUTCFullYear() - 1 - Math.floor(random.next() ** 2 * 120)
  const isListed = employees > 2000 && random.chance(0.5)
  return {
    subtitle: random.chance(0.35) ? `${random.pick(place.language.subjects)} · ${place.city}` : null,
    location: random.chance(0.85) ? place.location : null,
    timeZone: random.chance(0.8) ? place.zone : null,
    linkedinHandle: random.chance(0.3) ? domain.slice(0, -'.example'.length) : null,
    employeesCount: random.chance(0.75) ? employees : null,
    annualRevenue: random.chance(0.4) ? `${employees * (40_000 + random.integerBelow(160_000))}.00` : null,
    foundedYear: random.chance(0.6) ? founded : null,
    fundingStage: isListed ? 'public' : random.chance(0.25) ? random.pick(stages.slice(0, 4)) : null,
    ticker: isListed
      ? domain
          .replace(/[^a-z]/g, '')
          .slice(0, 4)
          .toUpperCase()
      : null,
    retailLocationsCount: random.chance(0.12) ? random.integerBelow(80) : null,
    industries: random.chance(0.8) ? [random.pickSkewed(industries)] : [],
    languages: random.chance(0.7) ? [place.language.code] : [],
    stack: random.chance(0.2) ? [random.pick(stacks)] : [],
    customProperties: random.chance(0.5)
      ? { segment: employees < 50 ? 'small' : employees < 500 ? 'middle' : 'large' }
      : {},
  }
}
