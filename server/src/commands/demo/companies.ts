import { domainToASCII } from 'node:url'
import { domainKey } from '../../resources/companies/resource.ts'
import type { AnyRow } from '../../platform/resource/define.ts'
import type { City, Locale, Name } from './locale.ts'
import type { Made } from './made.ts'
import { at, mixed, type Random } from './random.ts'
import { instant, type Timeline } from './timeline.ts'
import { stride, type World } from './world.ts'

const peoplePerCompany = 15
const kinds = { locale: 1, core: 2, values: 3 }

/** What a contact has to know of its company. */
export interface Employer {
  id: string
  name: string
  locale: Locale
  city: City
  /** As it is stored: in ASCII. */
  domain: string
  /** As its people write it. */
  host: string
  createdAt: number
}

/** Employers that are kept: the first ones have most of the people. */
const mostKept = 16_384

/** The companies of a demo, by their number: the lower, the older and the bigger. */
export class Companies {
  readonly count: number
  readonly #world: World
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #locales: Uint8Array
  /** The how manieth of its language each one is. */
  readonly #ranks: Uint32Array
  readonly #kept: Employer[] = []

  constructor(contacts: number, { world, random, timeline }: { world: World; random: Random; timeline: Timeline }) {
    this.count = Math.ceil(contacts / peoplePerCompany)
    this.#world = world
    this.#random = random
    this.#timeline = timeline
    this.#locales = new Uint8Array(this.count)
    this.#ranks = new Uint32Array(this.count)
    const seen = new Uint32Array(world.locales.length)
    for (let index = 0; index < this.count; index++) {
      const locale = world.draw(random.of(kinds.locale, index))
      this.#locales[index] = locale
      this.#ranks[index] = seen[locale] ?? 0
      seen[locale] = (seen[locale] ?? 0) + 1
    }
  }

  localeOf(index: number): number {
    return this.#locales[index] ?? 0
  }

  employer(index: number): Employer {
    const known = this.#kept[index]
    if (known) return known
    const employer = this.#makeEmployer(index)
    if (index < mostKept) this.#kept[index] = employer
    return employer
  }

  #makeEmployer(index: number): Employer {
    const locale = this.#world.locale(this.localeOf(index))
    const random = this.#random.of(kinds.core, index)
    const { name, label, ownLabel } = called(locale, this.#ranks[index] ?? 0, random)
    const own = `${ownLabel}.example`
    // Some write their address in their own letters; where the rules of domains refuse them, ASCII it is.
    const isOwn = locale.hasDomains === true && random.isLikely(0.04) && domainToASCII(own) !== ''
    const host = isOwn ? own : `${label}.example`
    const createdAt = this.#timeline.moment((index + random.next()) / this.count)
    return {
      id: this.#timeline.id(createdAt, kinds.core, index),
      name,
      locale,
      city: random.common(locale.cities),
      domain: domainToASCII(host),
      host,
      createdAt,
    }
  }

  /** The whole record. */
  make(index: number): Made {
    const employer = this.employer(index)
    const { id, locale, domain, createdAt } = employer
    const random = this.#random.of(kinds.values, index)
    const changes = random.isLikely(0.3) ? 1 + random.below(5) : 0
    const updatedAt = changes === 0 ? createdAt : this.#timeline.between(createdAt, this.#timeline.end, random.next())
    const active = random.isLikely(0.6) ? this.#timeline.between(createdAt, this.#timeline.end, random.next()) : null
    const hasDomain = random.isLikely(0.92)
    const employees = Math.ceil(20 * (this.count / (index + 1)) ** 0.75 * (0.5 + random.next()))
    const values: AnyRow = {
      id: `com_${id}`,
      name: employer.name,
      domain: hasDomain ? domain : null,
      website: hasDomain && random.isLikely(0.8) ? `https://www.${domain}` : null,
      ...facts(random, employer, employees),
      tags: tagsOf(random, locale),
      lastActivityAt: active === null ? null : instant(active),
      createdAt: instant(createdAt),
      updatedAt: instant(updatedAt),
    }
    return { values, hidden: { domain_key: hasDomain ? domainKey(domain) : null }, revision: 1 + changes }
  }
}

/** None to three of the language's words, the first ones more often. */
export function tagsOf(random: Random, { tags }: Locale): string[] {
  const found: string[] = []
  for (let count = Math.floor(random.next() ** 1.5 * 4); count > 0; count--) {
    const tag = random.common(tags)
    if (!found.includes(tag)) found.push(tag)
  }
  return found
}

/** The name of the company of this rank in its language, and the labels of its domain: no two ranks share one. */
function called(locale: Locale, rank: number, random: Random): { name: string; label: string; ownLabel: string } {
  const { lasts, trades } = locale
  const [people, all] = [lasts.length, lasts.length * trades.length]
  const isSingle = rank < all
  const place = isSingle ? rank : (rank - all) % (all * people)
  const round = isSingle ? 0 : Math.floor((rank - all) / (all * people))
  const number = (place * stride) % (isSingle ? all : all * people)
  const founder = at(lasts, number)
  const trade = at(trades, Math.floor(number / people))
  const partner = isSingle ? undefined : at(lasts, Math.floor(number / all))
  const label = (part: (name: Name) => string) =>
    [founder, ...(partner ? [partner] : []), trade].map(part).join('-') + (round > 0 ? String(round + 1) : '')
  const joint = partner ? `${founder.text} & ${partner.text}` : founder.text
  const form = random.common(locale.companies)
  const name = form.replace('N', () => joint).replace('T', () => trade.text) + (round > 0 ? ` ${round + 1}` : '')
  return { name, label: label(({ roman }) => roman), ownLabel: label(written) }
}

/** A name as a domain may have it. */
const written = ({ text }: Name): string => text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, '')

const industries = ['manufacturing', 'retail', 'software', 'logistics', 'food', 'energy', 'health', 'media', 'tourism']
const stacks = ['PostgreSQL', 'SAP', 'Shopify', 'WordPress', 'Kubernetes', 'Excel', 'Odoo']
const stages = ['bootstrapped', 'seed', 'series_a', 'series_b', 'public']
const segments = ['small', 'middle', 'large']

function facts(random: Random, { locale, city, domain, createdAt }: Employer, employees: number): AnyRow {
  const founded = new Date(createdAt).getUTCFullYear() - 1 - Math.floor(random.next() ** 2 * 120)
  const isListed = employees > 2000 && random.isLikely(0.5)
  return {
    subtitle: random.isLikely(0.35) ? `${at(locale.trades, mixed(createdAt)).text} · ${city.name}` : null,
    location: random.isLikely(0.85) ? city.location : null,
    timeZone: random.isLikely(0.8) ? city.zone : null,
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
    languages: random.isLikely(0.7) ? [locale.language] : [],
    stack: random.isLikely(0.2) ? [random.one(stacks)] : [],
    customProperties: random.isLikely(0.5)
      ? { segment: at(segments, employees < 50 ? 0 : employees < 500 ? 1 : 2) }
      : {},
  }
}
