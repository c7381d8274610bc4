import { createTranslator } from 'use-intl'
import { expect, test } from 'vitest'
import { durationOf } from './duration.ts'
import { messages as german } from './de/index.ts'
import germanOfImports from './de/imports.json'
import { messages as germanOfRecords } from './de/of-records.ts'
import { messages as germanOfSettings } from './de/of-settings.ts'
import { messages as english } from './en/index.ts'
import englishOfImports from './en/imports.json'
import { messages as englishOfRecords } from './en/of-records.ts'
import { messages as englishOfSettings } from './en/of-settings.ts'

const catalogues = {
  en: { ...english, ...englishOfRecords, ...englishOfSettings, imports: englishOfImports },
  de: { ...german, ...germanOfRecords, ...germanOfSettings, imports: germanOfImports },
}
type Values = Record<string, string | number>

function say(locale: 'en' | 'de', key: string, values: Values): string {
  const translate = createTranslator({ locale, messages: catalogues[locale] })
  return (translate as unknown as (key: string, values: Values) => string)(key, values)
}

const [hour, day] = [3600, 86_400]

/** A text, its values, and the English and the German sentence. */
const table: readonly (readonly [string, Values, string, string])[] = [
  ['deals.inStageFor', durationOf(-5), 'In this stage for 1 minute', 'In dieser Phase seit 1 Minute'],
  ['deals.inStageFor', durationOf(59 * 60), 'In this stage for 59 minutes', 'In dieser Phase seit 59 Minuten'],
  ['deals.inStageFor', durationOf(hour), 'In this stage for 1 hour', 'In dieser Phase seit 1 Stunde'],
  ['deals.inStageFor', durationOf(2.9 * hour), 'In this stage for 2 hours', 'In dieser Phase seit 2 Stunden'],
  ['deals.inStageFor', durationOf(day), 'In this stage for 1 day', 'In dieser Phase seit 1 Tag'],
  ['deals.inStageFor', durationOf(2.6 * day), 'In this stage for 2 days', 'In dieser Phase seit 2 Tagen'],
  ['timeline.stayed', { ...durationOf(2.6 * day), stage: 'Lead' }, '2 days in Lead', '2 Tage in Lead'],
  ['timeline.stayed', { ...durationOf(day), stage: 'Lead' }, '1 day in Lead', '1 Tag in Lead'],
  ['timeline.updatedFields', { author: 'Ada', count: 2 }, 'Ada changed 2 fields', 'Ada hat 2 Felder geändert'],
  ['deals.rotting', { days: 1 }, 'No activity for 1 day', 'Seit 1 Tag keine Aktivität'],
  ['deals.rotting', { days: 8 }, 'No activity for 8 days', 'Seit 8 Tagen keine Aktivität'],
  ['home.days', { count: 1 }, '1 day', '1 Tag'],
  ['home.days', { count: 30 }, '30 days', '30 Tage'],
  [
    'list.deleteText',
    { days: 1 },
    'You can restore them for a day.',
    'Sie können sie einen Tag lang wiederherstellen.',
  ],
  [
    'list.deleteText',
    { days: 30 },
    'You can restore them for 30 days.',
    'Sie können sie 30 Tage lang wiederherstellen.',
  ],
]

test.each(table)('%s with %o: “%s”, “%s”', (key, values, inEnglish, inGerman) => {
  expect([say('en', key, values), say('de', key, values)]).toEqual([inEnglish, inGerman])
})

/** The paths and texts of a catalogue. */
function* textsOf(value: object, path = ''): Generator<readonly [string, string]> {
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === 'string') yield [`${path}${key}`, inner]
    else yield* textsOf(inner as object, `${path}${key}.`)
  }
}

/** Here, the number is a name: `condition 3`. */
const isOrdinal = (path: string): boolean => path === 'filters.removeRow'

test('a number before a noun has a singular and a plural', () => {
  const value = String.raw`\{(?:count|days|hours|minutes|number|total|done|size)(?:, number)?\} `
  // German nouns start with a capital letter; most English plurals end with an s.
  const nouns = { de: new RegExp(`${value}\\p{Lu}`, 'u'), en: new RegExp(`${value}[a-z]+s\\b`) }
  for (const locale of ['en', 'de'] as const) {
    const found = [...textsOf(catalogues[locale])].filter(
      ([path, text]) => nouns[locale].test(text) && !text.includes('plural') && !isOrdinal(path),
    )
    expect(found, locale).toEqual([])
  }
})
