import type { JsonObject } from '../../platform/model/fields.ts'
import { domainToASCII } from 'node:url'
import { domainKey } from '../../resources/companies/resource.ts'
import type { Made } from './made.ts'
import type { Place } from './places.ts'
import { at, type Random } from './random.ts'
import { idAt, instant, type Timeline } from './timeline.ts'

const peoplePerCompany = 15

/** What a contact has to know of its company. */
export interface Employer {
  id: string
  name: string
  place: Place
  /** As it is stored: in ASCII. */
  domain: string
  /** As its people write it. */
  host: string
  createdAt: number
}

/** The companies of a demo: the first ones are the oldest and the biggest. */
export class Companies {
  readonly employers: readonly Employer[]
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #domains = new Set<string>()

  constructor(
    contacts: number,
    { lot, random, timeline }: { lot: readonly Place[]; random: Random; timeline: Timeline },
  ) {
    this.#random = random
    this.#timeline = timeline
    const count = Math.ceil(contacts / peoplePerCompany)
    this.employers = Array.from({ length: count }, (_, index) =>
      this.#makeEmployer(random.one(lot), timeline.moment((index + random.next()) / count)),
    )
  }

  #makeEmployer(place: Place, createdAt: number): Employer {
    const { faker, men } = place.language
    const named = faker.company.name().normalize('NFC').replace(/\s+/g, ' ')
    const slug = faker.helpers
      .slugify(named)
      .toLowerCase()
      .match(/[a-z0-9]{2,}/g)
    const label = (slug ?? [this.#random.one(men.lasts).latin, this.#random.one(men.lasts).latin]).join('-')
    const own = named.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, '')
    // Some write their address in their own letters; where the rules of domains refuse them, ASCII it is.
    const isOwn = this.#random.isLikely(0.04) && domainToASCII(`${own}.example`) !== ''
    let host = ''
    const domain = firstFree(this.#domains, (number) => {
      host = `${isOwn ? own : label}${number}.example`
      return domainToASCII(host)
    })
    return { id: idAt(createdAt), name: named, place, domain, host, createdAt }
  }

  /** The whole record. */
  make(index: number): Made {
    const employer = at(this.employers, index)
    const { id, domain, createdAt } = employer
    const [random, timeline] = [this.#random, this.#timeline]
    const changes = random.isLikely(0.3) ? 1 + random.below(5) : 0
    const updatedAt = changes === 0 ? createdAt : timeline.between(createdAt, timeline.end, random.next())
    const active = random.isLikely(0.6) ? timeline.between(createdAt, timeline.end, random.next()) : null
    const hasDomain = random.isLikely(0.92)
    const employees = Math.ceil(20 * (this.employers.length / (index + 1)) ** 0.75 * (0.5 + random.next()))
    const values: JsonObject = {
      id: `com_${id}`,
      name: employer.name,
      domain: hasDomain ? domain : null,
      website: hasDomain && random.isLikely(0.8) ? `https://www.${domain}` : null,
      ...facts(random, employer, employees),
      tags: tagsOf(random),
      lastActivityAt: active === null ? null : instant(active),
      createdAt: instant(createdAt),
      updatedAt: instant(updatedAt),
    }
    return { values, hidden: { domain_key: hasDomain ? domainKey(domain) : null }, revision: 1 + changes }
  }
}

/** The text with the first number that nothing has yet, or without one. */
export function firstFree(taken: Set<string>, make: (number: string) => string): string {
  for (let number = 1; ; number++) {
    const text = make(number === 1 ? '' : String(number))
    if (!taken.has(text)) {
      taken.add(text)
      return text
    }
  }
}

const tags = ['newsletter', 'customer', 'lead', 'partner', 'fair', 'vip', 'Händler', 'à relancer', 'señal', 'клиент']

/** None to three of them, the first ones more often. */
export const tagsOf = (random: Random): string[] => [
  ...new Set(Array.from({ length: Math.floor(random.next() ** 1.5 * 4) }, () => random.common(tags))),
]

const industries = ['manufacturing', 'retail', 'software', 'logistics', 'food', 'energy', 'health', 'media', 'tourism']
const stacks = ['PostgreSQL', 'SAP', 'Shopify', 'WordPress', 'Kubernetes', 'Excel', 'Odoo']
const stages = ['bootstrapped', 'seed', 'series_a', 'series_b', 'public']

function facts(random: Random, { place, domain, createdAt }: Employer, employees: number): JsonObject {
  const founded = new Date(createdAt).getUTCFullYear() - 1 - Math.floor(random.next() ** 2 * 120)
  const isListed = employees > 2000 && random.isLikely(0.5)
  return {
    subtitle: random.isLikely(0.35) ? `${place.language.faker.company.buzzNoun()} · ${place.city}` : null,
    location: random.isLikely(0.85) ? place.location : null,
    timeZone: random.isLikely(0.8) ? place.zone : null,
    linkedinHandle: random.isLikely(0.3) ? domain.slice(0, -'.example'.length) : null,
    employeesCount: random.isLikely(0.75) ? employees : null,
    annualRevenue: random.isLikely(0.4) ? `${employees * (40_000 + random.below(160_000))}.00` : null,
    foundedYear: random.isLikely(0.6) ? founded : null,
    fundingStage: isListed ? 'public' : random.isLikely(0.25) ? random.one(stages.slice(0, 4)) : null,
    ticker: isListed
      ? domain
          .replace(/[^a-z]/g, '')
          .slice(0, 4)
          .toUpperCase()
      : null,
    retailLocationsCount: random.isLikely(0.12) ? random.below(80) : null,
    industries: random.isLikely(0.8) ? [random.common(industries)] : [],
    languages: random.isLikely(0.7) ? [place.language.code] : [],
    stack: random.isLikely(0.2) ? [random.one(stacks)] : [],
    customProperties: random.isLikely(0.5)
      ? { segment: employees < 50 ? 'small' : employees < 500 ? 'middle' : 'large' }
      : {},
  }
}
