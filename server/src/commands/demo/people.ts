import type { JsonObject } from '../../platform/model/fields.ts'
import { showId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/texts.ts'
import { Companies, type Employer, firstFree, tagsOf } from './companies.ts'
import { jobsOf, notesOf, type Title, titleOf } from './histories.ts'
import type { Made, MadePerson } from './made.ts'
import { makePlaces, type Name, type Place } from './places.ts'
import { Random } from './random.ts'
import { idAt, instant, Timeline } from './timeline.ts'

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
  id: string
  place: Place
  employer: Employer | undefined
  title: Title | undefined
  createdAt: number
  /** The last time that something happened with it, if anything did. */
  activeAt: number | undefined
}

const everyNthIsPartners = 33

/** The people of a demo, one after the other: the same ones for the same options. */
export class People {
  readonly companies: Companies
  readonly #options: DemoOptions
  readonly #random: Random
  readonly #timeline: Timeline
  /** Every place, as often as it has people. */
  readonly #lot: readonly Place[]
  readonly #addresses = new Set<string>()
  readonly #ids: { team: string; partners: string; owner: string }
  /** For the next one, who may be the same person in another team. */
  #previous: { called: Called; rootId: string } | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#timeline = new Timeline(options.end)
    this.#lot = makePlaces(this.#random).flatMap((place) => Array<Place>(place.weight).fill(place))
    const parts = { lot: this.#lot, random: this.#random, timeline: this.#timeline }
    this.companies = new Companies(options.contacts, parts)
    this.#ids = {
      team: showId('tea', options.teamId),
      partners: showId('tea', options.partnerTeamId),
      owner: showId('usr', options.ownerId),
    }
  }

  /** The person of this number; to be asked for one after the other, from 0 on. */
  make(index: number): MadePerson {
    const [random, timeline] = [this.#random, this.#timeline]
    const createdAt = timeline.moment((index + random.next()) / this.#options.contacts)
    const employer = random.isLikely(0.68) ? this.#companyAt(createdAt) : undefined
    const isLocal = employer !== undefined && random.isLikely(0.92)
    const person: Person = {
      id: idAt(createdAt),
      place: isLocal ? employer.place : random.one(this.#lot),
      employer,
      title: random.isLikely(employer ? 0.78 : 0.2) ? titleOf(random) : undefined,
      createdAt,
      activeAt: random.isLikely(0.8) ? timeline.between(createdAt, timeline.end, random.next() ** 0.7) : undefined,
    }
    const isPartners = index % everyNthIsPartners === 17
    const again = isPartners && index % (4 * everyNthIsPartners) === 17 ? this.#previous : undefined
    const called = again ? sameAs(again.called) : this.#named(person, index)
    const rootId = again?.rootId ?? idAt(createdAt)
    const contact = this.#contactOf(person, called, {
      index,
      rootContactId: `rcn_${rootId}`,
      teamId: isPartners ? this.#ids.partners : this.#ids.team,
    })
    this.#previous = !isPartners && called.email !== null ? { called, rootId } : undefined
    const parts = { random, timeline, companies: this.companies }
    return {
      contact,
      root: again
        ? undefined
        : { id: rootId, emailKey: contact.hidden.email_key ?? null, createdAt: instant(createdAt) },
      jobs: jobsOf(person, parts),
      notes: notesOf(person, parts, this.#ids.owner),
    }
  }

  /** One of the companies that there are by then, the older ones more often. */
  #companyAt(time: number): Employer | undefined {
    const { employers } = this.companies
    const known = Math.min(employers.length, Math.floor(employers.length * this.#timeline.shareBy(time)) + 1)
    return employers[Math.floor(known * this.#random.next() ** 1.8)]
  }

  /** How a person is called and written to. */
  #named({ place: { language }, employer }: Person, index: number): Called {
    const random = this.#random
    const { firsts, lasts } = random.isLikely(0.5) ? language.women : language.men
    const [first, last] = [random.one(firsts), random.one(lasts)]
    const isMononym = random.isLikely(language.code === 'id' ? 0.35 : 0.02)
    const lastName = isMononym ? null : familyName(last, lasts, language.code, random)
    const email = random.isLikely(0.9) ? this.#addressOf(first, last, employer?.host ?? privateHost) : null
    const isOnlyAddress = email !== null && random.isLikely(0.03)
    const handle = () => `${first.latin}-${last.latin}-${index.toString(36)}`
    return {
      firstName: isOnlyAddress ? null : first.text,
      lastName: isOnlyAddress ? null : lastName,
      name: isOnlyAddress ? null : wholeName(language.code, first.text, lastName),
      nickname: !isOnlyAddress && random.isLikely(0.04) ? capital(first.latin.slice(0, 3)) : null,
      email,
      linkedinHandle: random.isLikely(0.14) ? handle() : null,
      githubHandle: random.isLikely(0.03) ? handle() : null,
      twitterHandle: random.isLikely(0.03) ? handle().replaceAll('-', '_') : null,
    }
  }

  /** Each company has a form of its own. */
  #addressOf(first: Name, last: Name, host: string): string {
    const form = host.length % 3
    const [one, other] = form === 2 ? [last.latin, first.latin] : [first.latin, last.latin]
    const local = `${one}${form === 1 ? '_' : '.'}${other}`
    const address = firstFree(this.#addresses, (number) => `${local}${number}@${host}`)
    return this.#random.isLikely(0.04) ? capital(address) : address
  }

  #contactOf(person: Person, called: Called, { index, rootContactId, teamId }: Placing): Made {
    const random = this.#random
    const { id, place, employer, title, createdAt, activeAt } = person
    const { firstName, lastName, name, nickname, email, linkedinHandle, githubHandle, twitterHandle } = called
    const changes = random.isLikely(0.3) ? 1 + random.below(6) : 0
    const updatedAt = changes === 0 ? createdAt : this.#timeline.between(createdAt, this.#timeline.end, random.next())
    const hasPhone = random.isLikely(email === null ? 0.85 : 0.55)
    const { city, state, countryCode, location, timeZone, latitude, longitude } = locationOf(random, place)
    // Member by member: copying from other objects takes longer than all the rest.
    const values: JsonObject = {
      id: `con_${id}`,
      email,
      firstName,
      lastName,
      name,
      nickname,
      rootContactId,
      teamId,
      phone: hasPhone ? `${place.phone}${random.digits(place.digits)}` : null,
      tags: tagsOf(random),
      status: random.isLikely(0.74) ? 'active' : random.one(statuses),
      emailOptOut: random.isLikely(0.06),
      companyId: employer ? `com_${employer.id}` : null,
      customProperties: propertiesOf(random, place.language.code, this.#timeline.end),
      bio:
        title && random.isLikely(0.08) ? [title.title, employer?.name, place.city].filter(Boolean).join(' · ') : null,
      avatar: random.isLikely(0.1) ? `https://pictures.example/people/${index}.jpg` : null,
      website: random.isLikely(0.04) ? `https://people.example/${index.toString(36)}` : null,
      city,
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

interface Placing {
  index: number
  rootContactId: string
  teamId: string
}

/** Mailboxes of people who have no company, or write from home. */
const privateHost = 'letterbox.example'

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

/** The same person with another team: the name and the address. */
const sameAs = (called: Called): Called => ({
  ...called,
  ...{ nickname: null, linkedinHandle: null, githubHandle: null, twitterHandle: null },
})

const familyFirst: Readonly<Record<string, string>> = { zh: '', ko: '', ja: ' ', vi: ' ' }

/** In the order of the language. */
function wholeName(language: string, first: string, last: string | null): string {
  if (last === null) return first
  const separator = familyFirst[language]
  return separator === undefined ? `${first} ${last}` : `${last}${separator}${first}`
}

/** Some people have two, some an apostrophe in it. */
function familyName(last: Name, lasts: readonly Name[], language: string, random: Random): string {
  if (language === 'en' && random.isLikely(0.06)) return `O’${last.text}`
  if (language in familyFirst || !random.isLikely(0.06)) return last.text
  return `${last.text}-${random.one(lasts).text}`
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

function locationOf(random: Random, place: Place) {
  const hasCity = random.isLikely(0.72)
  const isExact = hasCity && random.isLikely(0.35)
  const near = (degrees: number) => Math.round((degrees + (random.next() - 0.5) / 10) * 10_000) / 10_000
  return {
    city: hasCity ? place.city : null,
    state: hasCity && random.isLikely(0.7) ? place.state : null,
    countryCode: hasCity || random.isLikely(0.5) ? place.country : null,
    location: random.isLikely(0.4) ? place.location : null,
    timeZone: random.isLikely(0.6) ? place.zone : null,
    latitude: isExact ? near(place.latitude) : null,
    longitude: isExact ? near(place.longitude) : null,
  }
}

function propertiesOf(random: Random, language: string, end: number): JsonObject {
  const properties: JsonObject = {}
  if (random.isLikely(0.7)) properties.plan = random.common(plans)
  if (random.isLikely(0.55)) properties.score = random.below(101)
  if (random.isLikely(0.5)) properties.source = random.common(sources)
  if (random.isLikely(0.35)) properties.language = language
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
