import { contacts } from '../../crm/contacts/resource.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { initialValues } from '../../platform/records/declare/define.ts'
import { Activity } from './activity.ts'
import { Companies, type Employer, filledIn, firstUnused } from './companies.ts'
import { demoData, writtenSeed, makeTowns, type Name, type Town, type WrittenPerson } from './data.ts'
import type { GeneratedCompany, GeneratedRecord, GeneratedPerson } from './generated-record.ts'
import { itemAt, Random } from './random.ts'
import { idAt, formatInstant, Timeline } from './timeline.ts'
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

/** A person, from which the related records are generated. */
interface Person {
  index: number
  written: WrittenPerson
  isVaried: boolean
  id: string
  employer: Employer | undefined
  createdAt: number
  /** Time of the last activity, if any. */
  activeAt: number | undefined
}

/** Generates the people of a demo, one after the other: the same options give the same people. */
export class People {
  readonly companies: Companies
  readonly #options: DemoOptions
  readonly #random: Random
  readonly #timeline: Timeline
  readonly #activity: Activity
  readonly #towns: readonly Town[]
  readonly #addresses = new Set<string>()
  readonly #ids: { team: string; partners: string; owner: string; import: string }
  /** The previous person, who may get a second contact in another team. */
  #previous: { values: JsonObject; rootId: string } | undefined

  constructor(options: DemoOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#timeline = new Timeline(options.end)
    const towns = makeTowns()
    this.#towns = towns.flatMap((town) => Array<Town>(town.weight).fill(town))
    const parts = { towns, random: this.#random, timeline: this.#timeline }
    this.companies = new Companies(options.contacts, { ...parts, isVaried: options.seed !== writtenSeed })
    this.#ids = {
      team: encodeId('tea', options.teamId),
      partners: encodeId('tea', options.partnerTeamId),
      owner: encodeId('usr', options.ownerId),
      import: encodeId('imp', options.importId),
    }
    const { employers } = this.companies
    this.#activity = new Activity({ ...parts, employers, ownerId: this.#ids.owner })
  }

  /** Generates the person with this index. Must be called in order, from 0. */
  make(index: number): GeneratedPerson {
    const [random, timeline] = [this.#random, this.#timeline]
    const isVaried = this.#options.seed !== writtenSeed || index >= demoData.people.length
    const written = isVaried ? random.pick(demoData.people) : itemAt(demoData.people, index)
    const shareOf = (share: number) => (isVaried ? random.next() : share)
    const createdAt = timeline.timeAtShare((index + shareOf(written.created)) / this.#options.contacts)
    const { company, active } = written
    const employer = company === undefined ? undefined : this.#companyAt(createdAt, shareOf(company))
    const activeAt =
      active === undefined
        ? undefined
        : timeline.between(createdAt, timeline.end, isVaried ? random.next() ** 0.7 : active)
    const person: Person = { index, written, isVaried, id: idAt(createdAt), employer, createdAt, activeAt }
    const isPartner = index % partnerInterval === 17
    const same = isPartner && index % (4 * partnerInterval) === 17 ? this.#previous : undefined
    const rootId = same?.rootId ?? idAt(createdAt)
    const contact = this.#contactOf(person, same?.values)
    Object.assign(contact.values, {
      rootContactId: `rcn_${rootId}`,
      teamId: isPartner ? this.#ids.partners : this.#ids.team,
    })
    this.#previous =
      !isPartner && typeof contact.values.email === 'string' ? { values: contact.values, rootId } : undefined
    const root = { id: rootId, emailKey: contact.hidden.email_key ?? null, createdAt: formatInstant(createdAt) }
    const jobs = this.#activity.jobsOf(person)
    const subject = { ...person, reference: { contactId: `con_${person.id}` } }
    return { contact, root: same ? undefined : root, jobs, ...this.#activity.of(subject) }
  }

  /** Generates the company with this index. */
  makeCompany(index: number): GeneratedCompany {
    const company = this.companies.make(index)
    const { id = null, lastActivityAt } = company.values
    const activeAt = typeof lastActivityAt === 'string' ? Date.parse(lastActivityAt) : undefined
    const employer = itemAt(this.companies.employers, index)
    return { company, ...this.#activity.of({ ...employer, activeAt, reference: { companyId: id } }) }
  }

  /** One of the companies that existed at this time; older ones are more frequent. */
  #companyAt(time: number, share: number): Employer | undefined {
    const { employers } = this.companies
    const existingCount = Math.min(employers.length, Math.floor(employers.length * this.#timeline.shareAt(time)) + 1)
    return employers[Math.floor(existingCount * share ** 1.8)]
  }

  /** `same`: the values of the same person in another team, who has the same names and address. */
  #contactOf(person: Person, same: JsonObject | undefined): GeneratedRecord {
    const { index, written, isVaried, id, employer, createdAt, activeAt } = person
    const { changes = 0, changed } = written
    const values = { ...initialValues(contacts), ...(isVaried ? this.#variationOf(person) : written.values) }
    if (same) {
      const { firstName, lastName, name, email } = same
      Object.assign(values, { firstName, lastName, name, email }, withoutHandles)
    } else if (values.email !== null) {
      const host = employer?.host ?? 'letterbox.example'
      const [local, isCapital] = [String(values.email).toLowerCase(), /^[A-Z]/.test(String(values.email))]
      const address = firstUnused(this.#addresses, (number) => `${local}${number}@${host}`)
      values.email = isCapital ? capitalize(address) : address
    }
    // By number, so that the random values of everything else do not depend on it.
    const source = itemAt(contactOrigins, index % contactOrigins.length)
    const [number, share] = [index.toString(36), isVaried ? this.#random.next() : (changed ?? 0)]
    const streetOf = streets[String(values.countryCode)]
    if (streetOf && index % 3 === 0)
      Object.assign(values, {
        street: streetOf((index % 89) + 1),
        postalCode: String(10_000 + ((index * 37) % 80_000)),
      })
    if (values.avatar !== null) values.avatar = `https://pictures.example/people/${index}.jpg`
    if (values.website !== null) values.website = `https://people.example/${number}`
    for (const name of ['linkedinHandle', 'githubHandle', 'twitterHandle'] as const)
      if (values[name] !== null)
        values[name] = `${String(values[name])}${name === 'twitterHandle' ? '_' : '-'}${number}`
    const given = { billing: `cus_${100_000 + index}`, helpdesk: `H-${number.toUpperCase()}` }
    values.id = `con_${id}`
    values.externalIds = filledIn({ ...(written.values.externalIds as JsonObject) }, given)
    values.customProperties = this.#propertiesOf(values.customProperties as JsonObject, isVaried)
    values.companyId = employer ? `com_${employer.id}` : null
    values.ownerId = written.isOwned ? this.#ids.owner : null
    values.lastActivityAt = activeAt === undefined ? null : formatInstant(activeAt)
    values.blockedAt = written.isBlocked ? values.lastActivityAt : null
    values.createdAt = formatInstant(createdAt)
    values.updatedAt = formatInstant(
      changed === undefined ? createdAt : this.#timeline.between(createdAt, this.#timeline.end, share),
    )
    values.source = source
    values.importId = source === 'import' ? this.#ids.import : null
    const { email } = values
    return { values, hidden: { email_key: typeof email === 'string' ? emailKey(email) : null }, revision: 1 + changes }
  }

  /** The values of somebody else, with another name and mostly at the place of the company. */
  #variationOf({ written: { values }, employer }: Person): JsonObject {
    const random = this.#random
    const town = employer && random.chance(0.92) ? employer.place : random.pick(this.#towns)
    const { code, women, men } = town.language
    const { firstNames, lastNames } = random.chance(0.5) ? women : men
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)]
    const hasOneName = values.lastName === undefined || (code === 'id' && random.chance(0.35))
    const lastName = hasOneName ? null : familyName(last, lastNames, code, random)
    const handle = `${first.latin}-${last.latin}`
    const jitter = (degrees: number) => Math.round((degrees + (random.next() - 0.5) / 10) * 10_000) / 10_000
    const { customProperties } = values
    return filledIn(values, {
      firstName: first.text,
      lastName,
      name: fullName(code, first.text, lastName),
      nickname: capitalize(first.latin.slice(0, 3)),
      email: localPart(first, last, { format: (employer?.host.length ?? 0) % 3, like: String(values.email) }),
      phone: `${town.phone}${random.digits(town.digits)}`,
      bio: [values.employmentTitle, employer?.name, town.city].filter(Boolean).join(' · '),
      ...{ linkedinHandle: handle, githubHandle: handle, twitterHandle: `${first.latin}_${last.latin}` },
      ...{ facebookHandle: `${first.latin}${last.latin}`, instagramHandle: `${first.latin}${last.latin}` },
      ...{ city: town.city, state: town.state, countryCode: town.country, location: town.location },
      ...{ timeZone: town.zone, latitude: jitter(town.latitude), longitude: jitter(town.longitude) },
      customProperties: filledIn(customProperties as JsonObject, { language: code, score: random.integerBelow(101) }),
    })
  }

  /** The date is written as a number of days from the reference day. */
  #propertiesOf(properties: JsonObject, isVaried: boolean): JsonObject {
    if (properties.renewsOn === undefined) return properties
    const days = isVaried ? this.#random.integerBelow(365) : Number(properties.renewsOn)
    return { ...properties, renewsOn: formatInstant(this.#options.end + days * 86_400_000).slice(0, 10) }
  }
}

/** Null: as for contacts that are older than this field. */
const contactOrigins = ['import', 'person', 'import', 'api_key', 'import', null, 'import', 'person'] as const

/** Streets that most places of these countries have; their postal codes have five digits. */
const streets: Readonly<Record<string, (house: number) => string>> = {
  DE: (house) => `Bahnhofstraße ${house}`,
  ES: (house) => `Calle Mayor ${house}`,
  FR: (house) => `${house} rue de la Gare`,
  IT: (house) => `Via Roma ${house}`,
  US: (house) => `${house} Main St`,
}

const handles = ['linkedinHandle', 'githubHandle', 'twitterHandle', 'facebookHandle', 'instagramHandle'] as const
const withoutHandles = Object.fromEntries(['nickname', ...handles].map((name) => [name, null]))

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

/** Each company has its own email format. Sometimes it begins with a capital letter, like the written one. */
function localPart(first: Name, last: Name, { format, like }: { format: number; like: string }): string {
  const [one, other] = format === 2 ? [last.latin, first.latin] : [first.latin, last.latin]
  const local = `${one}${format === 1 ? '_' : '.'}${other}`
  return /^[A-Z]/.test(like) ? capitalize(local) : local
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
