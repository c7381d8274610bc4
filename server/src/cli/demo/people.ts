import { encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { Companies, type Employer, firstUnused, tagsOf } from './companies.ts'
import { jobsOf, notesOf, titleOf } from './histories.ts'
import type { GeneratedCompany, GeneratedRecord, GeneratedPerson } from './generated-record.ts'
import { makeTowns, type Name, type Town } from './places.ts'
import { interests, plans, sources } from './properties.ts'
import { itemAt, Random } from './random.ts'
import { noteTime, Tasks } from './tasks.ts'
import { idAt, formatInstant, Timeline } from './timeline.ts'
import type { Person } from './person.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export interface DemoOptions {
  seed: number
  contacts: number
  /** Start of the reference day, in milliseconds. Everything happens before it. */
  end: number
  /** Uuids of the existing records. */
  organizationId: string
  teamId: string
  partnerTeamId: string
  ownerId: string
  importId: string
}

const partnerInterval = 33

/** Generates the people of a demo, one after the other: the same options give the same people. */
export class People {
  readonly companies: Companies
  readonly #options: DemoOptions
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #tasks: Tasks
  /** Every place, repeated by its weight. */
  readonly #weightedPlaces: readonly Town[]
  readonly #addresses = new Set<string>()
  readonly #ids: { team: string; partners: string; owner: string; import: string }
  /** The previous person, who may get a second contact in another team. */
  #previous: { identity: PersonIdentity; rootId: string } | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#timeline = new Timeline(options.end)
    this.#weightedPlaces = makeTowns().flatMap((place) => Array<Town>(place.weight).fill(place))
    const parts = { weightedPlaces: this.#weightedPlaces, random: this.#random, timeline: this.#timeline }
    this.companies = new Companies(options.contacts, parts)
    this.#ids = {
      team: encodeId('tea', options.teamId),
      partners: encodeId('tea', options.partnerTeamId),
      owner: encodeId('usr', options.ownerId),
      import: encodeId('imp', options.importId),
    }
    this.#tasks = new Tasks(options.seed, this.#timeline, this.#ids.owner)
  }

  /** Generates the person with this index. Must be called in order, from 0. */
  make(index: number): GeneratedPerson {
    const [random, timeline] = [this.#random, this.#timeline]
    const createdAt = timeline.timeAtShare((index + random.next()) / this.#options.contacts)
    const employer = random.chance(0.68) ? this.#pickCompany(createdAt) : undefined
    const isLocal = employer !== undefined && random.chance(0.92)
    const person: Person = {
      id: idAt(createdAt),
      place: isLocal ? employer.place : random.pick(this.#weightedPlaces),
      employer,
      title: random.chance(employer ? 0.78 : 0.2) ? titleOf(random) : undefined,
      createdAt,
      activeAt: random.chance(0.8) ? timeline.between(createdAt, timeline.end, random.next() ** 0.7) : undefined,
    }
    const isPartnerContact = index % partnerInterval === 17
    const samePerson = isPartnerContact && index % (4 * partnerInterval) === 17 ? this.#previous : undefined
    const identity = samePerson ? withoutHandles(samePerson.identity) : this.#identityOf(person, index)
    const rootId = samePerson?.rootId ?? idAt(createdAt)
    const contact = this.#contactOf(person, identity, {
      index,
      rootContactId: `rcn_${rootId}`,
      teamId: isPartnerContact ? this.#ids.partners : this.#ids.team,
    })
    this.#previous = !isPartnerContact && identity.email !== null ? { identity, rootId } : undefined
    const parts = { random, timeline, companies: this.companies }
    const tasks = this.#tasks.tasksOf({ ...person, reference: { contactId: contact.values.id ?? null } })
    return {
      contact,
      root: samePerson
        ? undefined
        : { id: rootId, emailKey: contact.hidden.email_key ?? null, createdAt: formatInstant(createdAt) },
      jobs: jobsOf(person, parts),
      notes: notesOf({ ...person, activeAt: noteTime(person, tasks) }, parts, this.#ids.owner),
      tasks,
    }
  }

  /** Generates the company with this index. */
  makeCompany(index: number): GeneratedCompany {
    const company = this.companies.make(index)
    const { id = null, createdAt, lastActivityAt } = company.values
    const subject = {
      reference: { companyId: id },
      createdAt: Date.parse(String(createdAt)),
      activeAt: typeof lastActivityAt === 'string' ? Date.parse(lastActivityAt) : undefined,
    }
    const tasks = this.#tasks.tasksOf(subject)
    return { company, notes: this.#tasks.notesOf({ ...subject, activeAt: noteTime(subject, tasks) }), tasks }
  }

  /** One of the companies that existed at this time; older ones are more frequent. */
  #pickCompany(time: number): Employer | undefined {
    const { employers } = this.companies
    const existingCount = Math.min(employers.length, Math.floor(employers.length * this.#timeline.shareAt(time)) + 1)
    return employers[Math.floor(existingCount * this.#random.next() ** 1.8)]
  }

  /** Generates names, email and handles. */
  #identityOf({ place: { language }, employer }: Person, index: number): PersonIdentity {
    const random = this.#random
    const { firstNames, lastNames } = random.chance(0.5) ? language.women : language.men
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)]
    const isMononym = random.chance(language.code === 'id' ? 0.35 : 0.02)
    const lastName = isMononym ? null : familyName(last, lastNames, language.code, random)
    const email = random.chance(0.9) ? this.#uniqueEmail(first, last, employer?.host ?? privateHost) : null
    const hasOnlyEmail = email !== null && random.chance(0.03)
    const handle = () => `${first.latin}-${last.latin}-${index.toString(36)}`
    return {
      firstName: hasOnlyEmail ? null : first.text,
      lastName: hasOnlyEmail ? null : lastName,
      name: hasOnlyEmail ? null : fullName(language.code, first.text, lastName),
      nickname: !hasOnlyEmail && random.chance(0.04) ? capitalize(first.latin.slice(0, 3)) : null,
      email,
      linkedinHandle: random.chance(0.14) ? handle() : null,
      githubHandle: random.chance(0.03) ? handle() : null,
      twitterHandle: random.chance(0.03) ? handle().replaceAll('-', '_') : null,
    }
  }

  /** Each company has its own email format. */
  #uniqueEmail(first: Name, last: Name, host: string): string {
    const format = host.length % 3
    const [one, other] = format === 2 ? [last.latin, first.latin] : [first.latin, last.latin]
    const local = `${one}${format === 1 ? '_' : '.'}${other}`
    const address = firstUnused(this.#addresses, (number) => `${local}${number}@${host}`)
    return this.#random.chance(0.04) ? capitalize(address) : address
  }

  #contactOf(
    person: Person,
    identity: PersonIdentity,
    { index, rootContactId, teamId }: ContactLinks,
  ): GeneratedRecord {
    const random = this.#random
    const { id, place, employer, title, createdAt, activeAt } = person
    const { firstName, lastName, name, nickname, email, linkedinHandle, githubHandle, twitterHandle } = identity
    const changes = random.chance(0.3) ? 1 + random.integerBelow(6) : 0
    const updatedAt = changes === 0 ? createdAt : this.#timeline.between(createdAt, this.#timeline.end, random.next())
    const hasPhone = random.chance(email === null ? 0.85 : 0.55)
    const { city, state, countryCode, location, timeZone, latitude, longitude } = locationOf(random, place)
    // Property by property: spreading other objects would take longer than all the rest.
    // By number, so that the random values of everything else do not depend on it.
    const source = itemAt(contactOrigins, index % contactOrigins.length)
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
      status: random.chance(0.74) ? 'active' : random.pick(statuses),
      emailOptOut: random.chance(0.06),
      companyId: employer ? `com_${employer.id}` : null,
      customProperties: propertiesOf(random, place.language.code, this.#timeline.end),
      bio: title && random.chance(0.08) ? [title.title, employer?.name, place.city].filter(Boolean).join(' · ') : null,
      avatar: random.chance(0.1) ? `https://pictures.example/people/${index}.jpg` : null,
      website: random.chance(0.04) ? `https://people.example/${index.toString(36)}` : null,
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
      employmentSeniority: title && random.chance(0.8) ? title.seniority : null,
      externalIds: externalIdsOf(random, index),
      ownerId: random.chance(0.45) ? this.#ids.owner : null,
      blockedAt: activeAt !== undefined && random.chance(0.004) ? formatInstant(activeAt) : null,
      lastActivityAt: activeAt === undefined ? null : formatInstant(activeAt),
      createdAt: formatInstant(createdAt),
      updatedAt: formatInstant(updatedAt),
      source,
      importId: source === 'import' ? this.#ids.import : null,
    }
    return { values, hidden: { email_key: email === null ? null : emailKey(email) }, revision: 1 + changes }
  }
}

/** Null: as for contacts that are older than this field. */
const contactOrigins = ['import', 'person', 'import', 'api_key', 'import', null, 'import', 'person'] as const
const statuses = ['lead', 'customer', 'archived']

interface ContactLinks {
  index: number
  rootContactId: string
  teamId: string
}

/** Mail domain of people without a company. */
const privateHost = 'letterbox.example'

/** Names and addresses of a person. */
interface PersonIdentity {
  firstName: string | null
  lastName: string | null
  name: string | null
  nickname: string | null
  email: string | null
  linkedinHandle: string | null
  githubHandle: string | null
  twitterHandle: string | null
}

/** The same person in another team: same names and email, without nickname and handles. */
const withoutHandles = (identity: PersonIdentity): PersonIdentity => ({
  ...identity,
  ...{ nickname: null, linkedinHandle: null, githubHandle: null, twitterHandle: null },
})

const familyNameFirst: Readonly<Record<string, string>> = { zh: '', ko: '', ja: ' ', vi: ' ' }

/** Full name, in the name order of the language. */
function fullName(language: string, first: string, last: string | null): string {
  if (last === null) return first
  const separator = familyNameFirst[language]
  return separator === undefined ? `${first} ${last}` : `${last}${separator}${first}`
}

/** Sometimes two family names, or one with an apostrophe. */
function familyName(last: Name, lastNames: readonly Name[], language: string, random: Random): string {
  if (language === 'en' && random.chance(0.06)) return `O’${last.text}`
  if (language in familyNameFirst || !random.chance(0.06)) return last.text
  return `${last.text}-${random.pick(lastNames).text}`
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

function locationOf(random: Random, place: Town) {
  const hasCity = random.chance(0.72)
  const isExact = hasCity && random.chance(0.35)
  const jitter = (degrees: number) => Math.round((degrees + (random.next() - 0.5) / 10) * 10_000) / 10_000
  return {
    city: hasCity ? place.city : null,
    state: hasCity && random.chance(0.7) ? place.state : null,
    countryCode: hasCity || random.chance(0.5) ? place.country : null,
    location: random.chance(0.4) ? place.location : null,
    timeZone: random.chance(0.6) ? place.zone : null,
    latitude: isExact ? jitter(place.latitude) : null,
    longitude: isExact ? jitter(place.longitude) : null,
  }
}

function propertiesOf(random: Random, language: string, end: number): JsonObject {
  const properties: JsonObject = {}
  if (random.chance(0.7)) properties.plan = random.pickSkewed(plans)
  if (random.chance(0.55)) properties.score = random.integerBelow(101)
  if (random.chance(0.5)) properties.source = random.pickSkewed(sources)
  if (random.chance(0.35)) properties.language = language
  if (random.chance(0.3)) properties.newsletter = random.chance(0.6)
  if (random.chance(0.15)) properties.interests = [...new Set([random.pick(interests), random.pick(interests)])]
  if (random.chance(0.2)) properties.renewsOn = formatInstant(end + random.integerBelow(365) * 86_400_000).slice(0, 10)
  return properties
}

function externalIdsOf(random: Random, index: number): JsonObject {
  const ids: JsonObject = {}
  if (random.chance(0.16)) ids.billing = `cus_${(100_000 + index).toString()}`
  if (random.chance(0.06)) ids.helpdesk = `H-${index.toString(36).toUpperCase()}`
  return ids
}
