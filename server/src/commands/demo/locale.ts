import { at } from './random.ts'

export const scripts = [
  'Latin',
  'Cyrillic',
  'Greek',
  'Arabic',
  'Hebrew',
  'Han',
  'Japanese',
  'Korean',
  'Devanagari',
  'Thai',
] as const
export type Script = (typeof scripts)[number]

/**
 * How people and companies of a language are called. Names stand between spaces, `_` for a space within one; `=` gives
 * the spelling of addresses where it does not follow from the letters, `/` a woman's form.
 */
export interface LocaleText {
  language: string
  script: Script
  /** How many people have it, in relation to the others. */
  weight: number
  female: string
  male: string
  last: string
  /** Between the parts of a name where the family's comes first. */
  familyFirst?: string
  /** Share of people with two family names, and what stands between them. */
  double?: readonly [share: number, separator: string]
  /** Share of people with a single name. */
  mononyms?: number
  /** Where private mailboxes are: a domain below `.example`. */
  mail: string
  /** A line each: `city|state|country|zone|latitude|longitude|phone prefix|digits after it`. */
  cities: string
  /** What companies do; no two languages share a spelling. */
  trades: string
  /** Companies' names, `N` the family's and `T` the trade. */
  companies: readonly string[]
  /** May domains be written in its letters? */
  hasDomains?: boolean
  /** `title:seniority`. */
  titles: readonly string[]
  tags: readonly string[]
  notes: readonly string[]
}

export interface Name {
  text: string
  /** A woman's form of it. */
  feminine: string
  /** In small ASCII letters, for addresses. */
  roman: string
}

export interface City {
  name: string
  /** With its country, in the language. */
  location: string
  state: string | null
  country: string
  zone: string
  latitude: number
  longitude: number
  phone: string
  digits: number
}

export interface Title {
  title: string
  seniority: string
}

export interface Locale extends Omit<LocaleText, 'female' | 'male' | 'last' | 'cities' | 'trades' | 'titles'> {
  /** Women first, then `men` begins. */
  firsts: readonly Name[]
  men: number
  lasts: readonly Name[]
  cities: readonly City[]
  trades: readonly Name[]
  titles: readonly Title[]
}

export function readLocale(text: LocaleText): Locale {
  const women = names(text.female)
  return {
    ...text,
    firsts: [...women, ...names(text.male)],
    men: women.length,
    lasts: names(text.last),
    cities: readCities(text),
    trades: names(text.trades),
    titles: text.titles.map((one) => {
      const [title = '', seniority = ''] = one.split(':')
      return { title, seniority }
    }),
  }
}

const names = (text: string): Name[] => text.trim().split(/\s+/).map(readName)

function readName(word: string): Name {
  const [forms = '', roman] = word.replaceAll('_', ' ').split('=')
  const [text = '', feminine = text] = forms.split('/')
  return { text, feminine, roman: roman ?? romanOf(text) }
}

function readCities({ language, cities }: LocaleText): City[] {
  const countries = new Intl.DisplayNames([language], { type: 'region' })
  return cities
    .trim()
    .split('\n')
    .map((line) => readCity(line, countries))
}

function readCity(line: string, countries: Intl.DisplayNames): City {
  const [name = '', state = '', country = '', zone = '', latitude, longitude, phone = '', digits] = line
    .trim()
    .split('|')
  return {
    name,
    location: `${name}, ${countries.of(country) ?? country}`,
    state: state || null,
    country,
    zone,
    latitude: Number(latitude),
    longitude: Number(longitude),
    phone,
    digits: Number(digits),
  }
}

const letters: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ı: 'i',
}

/** `Łukasz` is `lukasz`, `O’Connor` is `oconnor`: what an address keeps of a name in Latin letters. */
function romanOf(text: string): string {
  const plain = text.normalize('NFD').toLowerCase().replace(/\p{M}/gu, '')
  return plain.replace(/[^a-z]/g, (letter) => letters[letter] ?? '')
}

/** So many different pairs of a first and a family name there are. */
export const pairsOf = ({ firsts, lasts }: Locale): number => firsts.length * lasts.length

/** The pair of this number: each number below `pairsOf` is another pair. */
export function pairAt({ firsts, lasts, men }: Locale, number: number): { first: Name; last: Name; isWoman: boolean } {
  const place = number % firsts.length
  return { first: at(firsts, place), last: at(lasts, Math.floor(number / firsts.length)), isWoman: place < men }
}
