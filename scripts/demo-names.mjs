// Writes server/data/demo-names.json, the names of people and companies for `rapport demo`, from the package faker. Run it
// by hand to get other names (`node scripts/demo-names.mjs`); the file is committed, so that the service needs no faker.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allFakers, Faker, generateMersenne53Randomizer } from '@faker-js/faker'
import { root } from './run.mjs'

const locales = [
  ...['en_GB', 'en_US', 'en_CA', 'en_AU', 'de', 'de_AT', 'de_CH', 'fr', 'fr_CH', 'fr_CA', 'fr_SN', 'es', 'es_MX'],
  ...['pt_PT', 'pt_BR', 'it', 'nl', 'nl_BE', 'sv', 'nb_NO', 'da', 'pl', 'cs_CZ', 'tr', 'ru', 'uk', 'el', 'ar', 'he'],
  ...['zh_CN', 'zh_TW', 'ja', 'ko', 'ne', 'th', 'vi', 'id_ID'],
]
const counts = { firstNames: 40, lastNames: 60, companies: 40, subjects: 8 }
const attempts = 4000

const randomizer = generateMersenne53Randomizer(1)
const fakerOf = (locale) => new Faker({ locale: allFakers[locale].rawDefinitions, randomizer })
const english = fakerOf('en')

/** Between names, and between a name and its letters for an address. */
const separators = /[|=]/

/** The first distinct texts that `make` returns, sorted so that a later run changes few lines. */
function distinct(count, make) {
  const texts = new Set()
  for (let attempt = 0; attempt < attempts && texts.size < count; attempt++) {
    const text = make().normalize('NFC').replace(/\s+/g, ' ').trim()
    if (separators.test(text)) throw new Error(`${text} contains a separator.`)
    texts.add(text)
  }
  return [...texts].sort()
}

/** `Łukasz-Jan` becomes `lukaszjan`. faker transliterates only user names, so one is generated and split. */
const latinOf = (faker, text) =>
  /^[a-z]+(?=[._]x)/.exec(
    faker.internet.username({ firstName: text.replace(/[^\p{L}\p{M}]/gu, ''), lastName: 'x' }).toLowerCase(),
  )?.[0]

const lettersOf = (text) => text.toLowerCase().replace(/[^a-z]/g, '')

/**
 * Names in one text: `Zoë=zoe|Zara`, with the letters for an address where they differ. Scripts that cannot be
 * transliterated get an English name there, as is common in practice.
 */
const withLatin = (faker, texts, makeEnglish) =>
  texts
    .map((text) => {
      const latin = latinOf(faker, text) ?? lettersOf(makeEnglish())
      return latin === lettersOf(text) && /^[\x20-\x7e]+$/.test(text) ? text : `${text}=${latin}`
    })
    .join('|')

function namesOf(locale) {
  const faker = fakerOf(locale)
  const first = (sex) =>
    withLatin(
      faker,
      distinct(counts.firstNames, () => faker.person.firstName(sex)),
      () => english.person.firstName(sex),
    )
  const last = (sex) =>
    withLatin(
      faker,
      distinct(counts.lastNames, () => faker.person.lastName(sex)),
      () => english.person.lastName(),
    )
  const { definitions } = faker
  return {
    language: definitions.metadata.language,
    women: first('female'),
    men: first('male'),
    lastNames: last('male'),
    ...(definitions.person.last_name?.female !== undefined && { lastNamesOfWomen: last('female') }),
    companies: distinct(counts.companies, () => faker.company.name()).join('|'),
    subjects: distinct(counts.subjects, () => faker.company.buzzNoun()).join('|'),
  }
}

const lines = locales.map((locale) => `  ${JSON.stringify(locale)}: ${JSON.stringify(namesOf(locale))}`)
writeFileSync(join(root, 'server/data/demo-names.json'), `{\n${lines.join(',\n')}\n}\n`)
