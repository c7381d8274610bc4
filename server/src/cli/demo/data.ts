import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { definableResources } from '../../crm/properties/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'
import type { PropertyType } from '../../platform/records/declare/field.ts'

/**
 * A record as it is written in `demo.json`. Times are shares: `created` of the time until the next record, `active` and
 * `changed` of the time since then. The command fills in empty values, which depend on the other records.
 */
interface WrittenRecord {
  created: number
  /** The last activity, if any. */
  active?: number
  /** How often it was changed, and when last. */
  changes?: number
  changed?: number
  values: JsonObject
  notes?: readonly WrittenNote[]
  tasks?: readonly WrittenTask[]
}

/** Without `at`, the note is the last activity. */
export interface WrittenNote {
  body: string
  at?: number
}

/** With `made`, the last activity was that the task was done, otherwise that it was created. */
export interface WrittenTask {
  title: string
  body?: string
  priority: string
  dueDays?: number
  dueHours?: number
  isAssigned?: true
  made?: number
}

export interface WrittenCompany extends WrittenRecord {
  town: string
  /** Its domain, without the end. */
  host: string
  /** Its employees, compared to those of another company of its age. */
  size: number
  revenuePerHead?: number
  foundedBefore?: number
}

export interface WrittenPerson extends WrittenRecord {
  /** Which of the companies of that time employs the person: older ones are more frequent. */
  company?: number
  isOwned?: true
  isBlocked?: true
  /** Months are counted back from the creation. */
  jobs?: readonly { organization: string; title?: string; start: number; end?: number }[]
}

export interface WrittenDeal {
  name: string
  /** The share of all deals that are older. */
  recency: number
  amount?: number
  /** Number of open stages that it has been in. */
  openStages: number
  outcome?: 'won' | 'lost'
  lostReason?: string
  isOwned?: true
  isChanged?: true
  /** Days from the creation to the expected close. */
  closesIn?: number
  /** For each move: how much of the time that it may take was taken. */
  paces?: readonly number[]
  /** One for each contact. */
  roles: readonly (string | null)[]
  customProperties?: JsonObject
}

export interface Name {
  text: string
  /** Lower-case ASCII letters, for email addresses. */
  latin: string
}

interface Names {
  firstNames: readonly Name[]
  lastNames: readonly Name[]
}

interface Language {
  code: string
  women: Names
  men: Names
  /** Names of companies. */
  companies: readonly string[]
  /** What a company may be about. */
  subjects: readonly string[]
}

/** Phone numbers have `digits` after their prefix. They are reserved for fiction where a country has such numbers. */
interface WrittenTown {
  locale: string
  weight: number
  city: string
  state: string | null
  country: string
  zone: string
  latitude: number
  longitude: number
  phone: string
  digits: number
}

export interface Town extends WrittenTown {
  language: Language
  /** City and country, in the local language. */
  location: string
}

interface DemoProperty {
  key: string
  type: PropertyType
  label: string
  description?: string
  choices?: readonly string[]
}

interface WrittenDemo {
  towns: readonly WrittenTown[]
  properties: Record<(typeof definableResources)[number], readonly DemoProperty[]>
  companies: readonly WrittenCompany[]
  people: readonly WrittenPerson[]
  deals: readonly WrittenDeal[]
  dealNames: Record<'de' | 'en', readonly string[]>
  /** What contacts write; `toMachines` with a few words to a machine, which the analysis must not follow. */
  replies: Record<'aboutDeals' | 'decided' | 'toMachines', readonly string[]>
  /** The title of a task that a suggestion became, by type. */
  taskTitles: Readonly<Record<string, string>>
}

const readData = <Data>(name: string): Data =>
  JSON.parse(readFileSync(createRequire(import.meta.url).resolve(`#data/${name}`), 'utf8')) as Data

/** The seed whose first records are exactly those of `demo.json`; all others are variations. */
export const writtenSeed = 1

export const demoData = readData<WrittenDemo>('demo.json')

/** All towns of a demo, with names in their languages: lists in one text each, which scripts/demo-names.mjs wrote. */
export function makeTowns(): Town[] {
  const written = readData<Record<string, Record<string, string>>>('demo-names.json')
  const languages = new Map(Object.entries(written).map(([locale, names]) => [locale, languageOf(names)]))
  return demoData.towns.map((town) => {
    const language = languages.get(town.locale)
    if (!language) throw new Error(`There are no names for ${town.locale}.`)
    const countries = new Intl.DisplayNames([language.code], { type: 'region' })
    return { ...town, language, location: `${town.city}, ${countries.of(town.country)}` }
  })
}

function languageOf(written: Record<string, string>): Language {
  const { language = '', women, men, lastNames, lastNamesOfWomen, companies = '', subjects = '' } = written
  return {
    code: language,
    women: { firstNames: namesIn(women), lastNames: namesIn(lastNamesOfWomen ?? lastNames) },
    men: { firstNames: namesIn(men), lastNames: namesIn(lastNames) },
    companies: companies.split('|'),
    subjects: subjects.split('|'),
  }
}

/** `Zoë=zoe|Zara`: the letters for an address are given where they are not those of the name. */
const namesIn = (list = ''): Name[] =>
  list.split('|').map((name) => {
    const [text = '', latin = text.toLowerCase().replace(/[^a-z]/g, '')] = name.split('=')
    return { text, latin }
  })
