import type { AnyRow } from '../../platform/resource/define.ts'
import type { JsonObject } from '../../platform/resource/fields.ts'
import { emailKey } from '../../platform/resource/texts.ts'
import { Companies, type Employer, tagsOf } from './companies.ts'
import { jobsOf, notesOf } from './histories.ts'
import { type City, type Locale, type Name, pairAt, pairsOf, type Title } from './locale.ts'
import type { Made, MadePerson } from './made.ts'
import { Random } from './random.ts'
import { instant, Timeline } from './timeline.ts'
import { stride, World } from './world.ts'

export interface DemoOptions {
  seed: number
  contacts: number
  /** Milliseconds: the beginning of the reference day, by which all of it has happened. */
  end: number
  /** Uuids of what there is in the organization already. */
  organizationId: string
  teamId: string
  partnerTeamId: string
  ownerId: string
}

/** A person as the parts of its record are made from it. */
export interface Person {
  index: number
  id: string
  locale: Locale
  city: City
  employer: Employer | undefined
  title: Title | undefined
  createdAt: number
  /** The last time that something happened with it, if anything did. */
  activeAt: number | undefined
}

const kinds = { contact: 10, root: 11 }
const everyNthIsPartners = 33

/** The people of a demo, one after the other: the same ones for the same options. */
export class People {
  readonly companies: Companies
  readonly #options: DemoOptions
  readonly #world = new World()
  readonly #random: Random
  readonly #timeline: Timeline
  /** How many of a company, and of the others of a language, have an address by now: no two get the same. */
  readonly #ofCompany: Uint32Array
  readonly #ofLanguage: Uint32Array
  readonly #ids: { team: string; partners: string; owner: string }
  #previous: Made | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#timeline = new Timeline(options.end, options.organizationId)
    const parts = { world: this.#world, random: this.#random, timeline: this.#timeline }
    this.companies = new Companies(options.contacts, parts)
    this.#ofCompany = new Uint32Array(this.companies.count)
    this.#ofLanguage = new Uint32Array(this.#world.locales.length)
    const shown = (prefix: string, uuid: string) => `${prefix}_${uuid.replaceAll('-', '')}`
    this.#ids = {
      team: shown('tea', options.teamId),
      partners: shown('tea', options.partnerTeamId),
      owner: shown('usr', options.ownerId),
    }
  }

  /** The person of this number; to be asked for one after the other, from 0 on. */
  make(index: number): MadePerson {
    const random = this.#random
    const { contacts } = this.#options
    random.of(kinds.contact, index)
    const createdAt = this.#timeline.moment((index + random.next()) / contacts)
    const company = random.isLikely(0.68) ? this.#companyAt(createdAt, random) : undefined
    const isNative = company !== undefined && random.isLikely(0.92)
    const language = isNative ? this.companies.localeOf(company) : this.#world.draw(random)
    const locale = this.#world.locale(language)
    // A drawn company may be made here, which draws of a stream of its own: this one begins again after it.
    const employer = company === undefined ? undefined : this.companies.employer(company)
    random.of(kinds.contact + 1, index)
    const rank = isNative ? this.#next(this.#ofCompany, company) : this.#next(this.#ofLanguage, language)
    const person: Person = {
      index,
      id: this.#timeline.id(createdAt, kinds.contact, index),
      locale,
      city: employer && isNative && random.isLikely(0.75) ? employer.city : random.common(locale.cities),
      employer,
      title: random.isLikely(employer ? 0.78 : 0.2) ? random.one(locale.titles) : undefined,
      createdAt,
      activeAt: random.isLikely(0.8)
        ? this.#timeline.between(createdAt, this.#timeline.end, random.next() ** 0.7)
        : undefined,
    }
    const isPartners = index % everyNthIsPartners === 17
    const again = isPartners && index % (4 * everyNthIsPartners) === 17 ? this.#previous : undefined
    const given = again ? sameAs(again) : named(person, { rank, host: isNative ? employer?.host : undefined, random })
    const rootId = again ? undefined : this.#timeline.id(createdAt, kinds.root, index)
    const contact = this.#contactOf(person, given, {
      rootContactId: rootId === undefined ? (again?.values.rootContactId ?? null) : `rcn_${rootId}`,
      teamId: isPartners ? this.#ids.partners : this.#ids.team,
    })
    this.#previous = !isPartners && contact.values.email !== null ? contact : undefined
    const emailKeyOfRoot = contact.hidden.email_key ?? null
    const parts = { random, timeline: this.#timeline, companies: this.companies }
    return {
      contact,
      root: rootId === undefined ? undefined : { id: rootId, emailKey: emailKeyOfRoot, createdAt: instant(createdAt) },
      jobs: jobsOf(person, parts),
      notes: notesOf(person, parts, this.#ids.owner),
    }
  }

  /** One of the companies that there are by then, the older ones more often. */
  #companyAt(time: number, random: Random): number {
    const share = this.#timeline.shareBy(time)
    const known = Math.min(this.companies.count, Math.floor(this.companies.count * share) + 1)
    return Math.floor(known * random.next() ** 1.8)
  }

  #next(counts: Uint32Array, place: number): number {
    const rank = counts[place] ?? 0
    counts[place] = rank + 1
    return rank
  }

  #contactOf(person: Person, called: Called, { rootContactId, teamId }: AnyRow): Made {
    const random = this.#random
    const { id, index, locale, city, employer, title, createdAt, activeAt } = person
    const { firstName, lastName, name, nickname, email, linkedinHandle, githubHandle, twitterHandle } = called
    const changes = random.isLikely(0.3) ? 1 + random.below(6) : 0
    const updatedAt = changes === 0 ? createdAt : this.#timeline.between(createdAt, this.#timeline.end, random.next())
    const hasPhone = random.isLikely(email === null ? 0.85 : 0.55)
    const { city: place, state, countryCode, location, timeZone, latitude, longitude } = placeOf(random, city)
    // Member by member: copying from other objects takes longer than all the rest.
    const values: AnyRow = {
      id: `con_${id}`,
      email,
      firstName,
      lastName,
      name,
      nickname,
      rootContactId: rootContactId ?? null,
      teamId: teamId ?? null,
      phone: hasPhone ? `${city.phone}${random.digits(city.digits)}` : null,
      tags: tagsOf(random, locale),
      status: random.isLikely(0.74) ? 'active' : random.one(statuses),
      emailOptOut: random.isLikely(0.06),
      companyId: employer ? `com_${employer.id}` : null,
      customProperties: propertiesOf(random, { locale, end: this.#timeline.end }),
      bio: title && random.isLikely(0.08) ? [title.title, employer?.name, city.name].filter(Boolean).join(' · ') : null,
      avatar: random.isLikely(0.1) ? `https://pictures.example/people/${index}.jpg` : null,
      website: random.isLikely(0.04) ? `https://people.example/${index.toString(36)}` : null,
      city: place,
      state,
      countryCode,
      location,
      timeZone,
      latitude,
      longitude,
      linkedinHandle,
      githubHandle,
      twitterHandle,
      employmentTitle: title?.title ?? null,
      employmentSeniority: title && random.isLikely(0.8) ? title.seniority : null,
      externalIds: externalIdsOf(random, index),
      ownerId: random.isLikely(0.45) ? this.#ids.owner : null,
      blockedAt: activeAt !== undefined && random.isLikely(0.004) ? instant(activeAt) : null,
      lastActivityAt: activeAt === undefined ? null : instant(activeAt),
      createdAt: instant(createdAt),
      updatedAt: instant(updatedAt),
    }
    return { values, hidden: { email_key: email === null ? null : emailKey(email) }, revision: 1 + changes }
  }
}

const statuses = ['lead', 'customer', 'archived']
const sources = ['website', 'fair', 'recommendation', 'webinar', 'import', 'phone']
const plans = ['free', 'team', 'business', 'enterprise']
const interests = ['product', 'training', 'support', 'events', 'prices']

/** How a person is called, and where it is found. */
interface Called {
  firstName: string | null
  lastName: string | null
  name: string | null
  nickname: string | null
  email: string | null
  linkedinHandle: string | null
  githubHandle: string | null
  twitterHandle: string | null
}

const handles = { linkedinHandle: null, githubHandle: null, twitterHandle: null }

/** The same person with another team: the name and the address. */
function sameAs({ values }: Made): Called {
  const text = (name: string) => {
    const value = values[name]
    return typeof value === 'string' ? value : null
  }
  const [firstName, lastName] = [text('firstName'), text('lastName')]
  return { firstName, lastName, name: text('name'), nickname: null, email: text('email'), ...handles }
}

interface Naming {
  /** The how manieth of the company, or of the language's others. */
  rank: number
  /** Where the company's mail is; undefined for a private address. */
  host: string | undefined
  random: Random
}

/** How a person is called and written to. */
function named({ index, locale }: Person, { rank, host, random }: Naming): Called {
  const pairs = pairsOf(locale)
  const { first, last, isWoman } = pairAt(locale, (rank * stride) % pairs)
  const isMononym = random.isLikely(locale.mononyms ?? 0) || random.isLikely(0.02)
  const lastName = isMononym ? null : familyName(locale, last, isWoman, random)
  const address = addressOf(first, last, { host: host ?? locale.mail, isPrivate: host === undefined })
  const number = rank < pairs ? '' : String(Math.floor(rank / pairs) + 1)
  const local = random.isLikely(0.04) ? capital(address.local) : address.local
  const email = random.isLikely(0.9) ? `${local}${number}@${address.host}` : null
  const tail = `${first.roman}-${last.roman}-${index.toString(36)}`
  const isOnlyAddress = email !== null && random.isLikely(0.03)
  return {
    firstName: isOnlyAddress ? null : first.text,
    lastName: isOnlyAddress ? null : lastName,
    name: isOnlyAddress ? null : wholeName(locale, first.text, lastName),
    nickname: !isOnlyAddress && random.isLikely(0.04) ? capital(first.roman.slice(0, 3)) : null,
    email,
    linkedinHandle: random.isLikely(0.14) ? tail : null,
    githubHandle: random.isLikely(0.03) ? tail : null,
    twitterHandle: random.isLikely(0.03) ? tail.replaceAll('-', '_') : null,
  }
}

/** In the order of the language. */
function wholeName({ familyFirst }: Locale, first: string, last: string | null): string {
  if (last === null) return first
  return familyFirst === undefined ? `${first} ${last}` : `${last}${familyFirst}${first}`
}

/** Each company has a form of its own. */
function addressOf(first: Name, last: Name, { host, isPrivate }: { host: string; isPrivate: boolean }) {
  const form = isPrivate ? 0 : host.length % 3
  const [one, other] = form === 2 ? [last.roman, first.roman] : [first.roman, last.roman]
  return { local: `${one}${form === 1 ? '_' : '.'}${other}`, host }
}

function familyName({ double, lasts }: Locale, last: Name, isWoman: boolean, random: Random): string {
  const form = ({ text, feminine }: Name) => (isWoman ? feminine : text)
  if (!double || !random.isLikely(double[0])) return form(last)
  const other = random.one(lasts)
  return other === last ? form(last) : `${form(last)}${double[1]}${form(other)}`
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

function placeOf(random: Random, city: City) {
  const hasCity = random.isLikely(0.72)
  const isExact = hasCity && random.isLikely(0.35)
  const near = (degrees: number) => Math.round((degrees + (random.next() - 0.5) / 10) * 10_000) / 10_000
  return {
    city: hasCity ? city.name : null,
    state: hasCity && random.isLikely(0.7) ? city.state : null,
    countryCode: hasCity || random.isLikely(0.5) ? city.country : null,
    location: random.isLikely(0.4) ? city.location : null,
    timeZone: random.isLikely(0.6) ? city.zone : null,
    latitude: isExact ? near(city.latitude) : null,
    longitude: isExact ? near(city.longitude) : null,
  }
}

function propertiesOf(random: Random, { locale, end }: { locale: Locale; end: number }): JsonObject {
  const properties: JsonObject = {}
  if (random.isLikely(0.7)) properties.plan = random.common(plans)
  if (random.isLikely(0.55)) properties.score = random.below(101)
  if (random.isLikely(0.5)) properties.source = random.common(sources)
  if (random.isLikely(0.35)) properties.language = locale.language
  if (random.isLikely(0.3)) properties.newsletter = random.isLikely(0.6)
  if (random.isLikely(0.15)) properties.interests = [...new Set([random.one(interests), random.one(interests)])]
  if (random.isLikely(0.2)) properties.renewsOn = instant(end + random.below(365) * 86_400_000).slice(0, 10)
  return properties
}

function externalIdsOf(random: Random, index: number): JsonObject {
  const ids: JsonObject = {}
  if (random.isLikely(0.16)) ids.billing = `cus_${(100_000 + index).toString()}`
  if (random.isLikely(0.06)) ids.helpdesk = `H-${index.toString(36).toUpperCase()}`
  return ids
}
