// The entry of the package reads the names in all 80 languages.
import countries from 'i18n-iso-countries/index.js'
import english from 'i18n-iso-countries/langs/en.json' with { type: 'json' }
import german from 'i18n-iso-countries/langs/de.json' with { type: 'json' }

let codes: ReadonlyMap<string, string> | undefined

/** The two-letter code of a country, by that or the three-letter code, or its English or German name. */
export function countryCode(text: string): string | undefined {
  codes ??= readCodes()
  return codes.get(comparable(text))
}

function readCodes(): ReadonlyMap<string, string> {
  for (const names of [german, english]) countries.registerLocale(names)
  const known = [...named('de'), ...named('en'), ...Object.entries(countries.getAlpha3Codes()), ...ownCodes()]
  return new Map(known.map(([name, code]) => [comparable(name), code]))
}

const ownCodes = (): [string, string][] => Object.keys(countries.getAlpha2Codes()).map((code) => [code, code])

function named(language: string): [string, string][] {
  const browserNames = new Intl.DisplayNames(language, { type: 'region' })
  const names = Object.entries(countries.getNames(language, { select: 'all' }))
  return names.flatMap(([code, all]) =>
    [...all, browserNames.of(code) ?? code].map((name): [string, string] => [name, code]),
  )
}

/** Without case, accents, points and `the`. */
const comparable = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
    .replaceAll('.', '')
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
    .replace(/^the /, '')
