import { domainToASCII } from 'node:url'
import { domainKey } from '../../crm/companies/resource.ts'
import { demoData, type Town, type WrittenCompany } from './data.ts'
import type { GeneratedRecord } from './generated-record.ts'
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
  written: WrittenCompany
  /** Another company than the written one, which has only its values. */
  isVaried: boolean
}

/** The companies of a demo, ordered by age and size: the first ones are the oldest and biggest. */
export class Companies {
  readonly employers: readonly Employer[]
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #domains = new Set<string>()

  constructor(
    contacts: number,
    options: { towns: readonly Town[]; random: Random; timeline: Timeline; isVaried: boolean },
  ) {
    const { towns, random, timeline } = options
    this.#random = random
    this.#timeline = timeline
    const weighted = towns.flatMap((town) => Array<Town>(town.weight).fill(town))
    const count = Math.ceil(contacts / peoplePerCompany)
    this.employers = Array.from({ length: count }, (_, index) => {
      const isVaried = options.isVaried || index >= demoData.companies.length
      const written = isVaried ? random.pick(demoData.companies) : itemAt(demoData.companies, index)
      const place = (isVaried ? undefined : towns.find(({ city }) => city === written.town)) ?? random.pick(weighted)
      const { name, host: label } = isVaried ? this.#nameIn(place) : { name: String(written.values.name), ...written }
      let host = ''
      const domain = firstUnused(this.#domains, (number) => {
        host = `${label}${number}.example`
        return domainToASCII(host)
      })
      const createdAt = timeline.timeAtShare((index + (isVaried ? random.next() : written.created)) / count)
      return { id: idAt(createdAt), name, place, domain, host, createdAt, written, isVaried }
    })
  }

  /** A name in the language of the town, and the beginning of a domain. */
  #nameIn({ language: { companies, men } }: Town): { name: string; host: string } {
    const random = this.#random
    const [first, second] = [random.pick(men.lastNames), random.pick(men.lastNames)]
    const name = random.chance(0.6) ? random.pick(companies) : `${first.text} & ${second.text}`
    // Some domains use native letters, unless the rules of domain names reject them.
    const native = name.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, '')
    if (random.chance(0.04) && domainToASCII(`${native}.example`) !== '') return { name, host: native }
    const latin = name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().match(/[a-z0-9]{2,}/g) // prettier-ignore
    return { name, host: (latin ?? [first.latin, second.latin]).join('-') }
  }

  /** The complete record. */
  make(index: number): GeneratedRecord {
    const employer = itemAt(this.employers, index)
    const { id, name, place, domain, createdAt, written, isVaried } = employer
    const [random, { end }] = [this.#random, this.#timeline]
    const { changes = 0, revenuePerHead = 0, foundedBefore = 0 } = written
    const timeOf = (share: number) => this.#timeline.between(createdAt, end, isVaried ? random.next() : share)
    const size = isVaried ? 0.5 + random.next() : written.size
    const employees = Math.ceil(20 * (this.employers.length / (index + 1)) ** 0.75 * size)
    const values = filledIn(written.values, {
      name,
      domain,
      website: `https://www.${domain}`,
      linkedinHandle: domain.slice(0, -'.example'.length),
      employeesCount: employees,
      annualRevenue: `${Math.round(employees * revenuePerHead)}.00`,
      foundedYear: new Date(createdAt).getUTCFullYear() - foundedBefore,
      customProperties: { segment: employees < 50 ? 'small' : employees < 500 ? 'middle' : 'large' },
      ...(isVaried && {
        subtitle: `${random.pick(place.language.subjects)} · ${place.city}`,
        location: place.location,
        timeZone: place.zone,
        languages: [place.language.code],
        ticker: domain.replace(/[^a-z]/g, '').slice(0, 4).toUpperCase(), // prettier-ignore
      }),
    })
    Object.assign(values, {
      id: `com_${id}`,
      lastActivityAt: written.active === undefined ? null : formatInstant(timeOf(written.active)),
      createdAt: formatInstant(createdAt),
      updatedAt: formatInstant(written.changed === undefined ? createdAt : timeOf(written.changed)),
    })
    return { values, hidden: { domain_key: values.domain ? domainKey(domain) : null }, revision: 1 + changes }
  }
}

/** The values with another one for each that is there. */
export function filledIn(values: JsonObject, others: JsonObject): JsonObject {
  const filled = { ...values }
  for (const name in others) if (filled[name] !== undefined) filled[name] = others[name] ?? null
  return filled
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
