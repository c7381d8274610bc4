import { expect, test } from 'vitest'
import germanRefusals from './de/refusals.json'
import refusals from './en/refusals.json'
import { messages as german } from './de/index.ts'
import germanOfCharts from './de/charts.json'
import germanOfEntrance from './de/entrance.json'
import germanOfImports from './de/imports.json'
import germanOfInbox from './de/inbox.json'
import germanOfProfile from './de/profile.json'
import germanOfPush from './de/push.json'
import { messages as germanOfRecords } from './de/of-records.ts'
import { messages as germanOfSettings } from './de/of-settings.ts'
import { messages as english } from './en/index.ts'
import englishOfCharts from './en/charts.json'
import englishOfEntrance from './en/entrance.json'
import englishOfImports from './en/imports.json'
import englishOfInbox from './en/inbox.json'
import englishOfProfile from './en/profile.json'
import englishOfPush from './en/push.json'
import { messages as englishOfRecords } from './en/of-records.ts'
import { messages as englishOfSettings } from './en/of-settings.ts'

/** Translations of labels and choices that the API names; English needs none. */
const {
  labels: _labels,
  choices: _choices,
  ...catalogue
} = {
  ...english,
  ...englishOfRecords,
  ...englishOfSettings,
  charts: englishOfCharts,
  entrance: englishOfEntrance,
  imports: englishOfImports,
  inbox: englishOfInbox,
  profile: englishOfProfile,
  push: englishOfPush,
}

/** `common.save` */
function keysOf(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'string' ? [`${path}${key}`] : keysOf(inner, `${path}${key}.`),
  )
}

function textAt(value: unknown, path: string): string {
  return String(path.split('.').reduce((inner, key) => (inner as Record<string, unknown>)?.[key], value))
}

/** The placeholders of a text, such as `{count}`, without the options of `{count, plural, other {Tasks}}`. */
function argumentsOf(text: string): string[] {
  const names = new Set<string>()
  const open: ('argument' | 'option')[] = []
  for (const [brace, name = ''] of text.matchAll(/\{(\w*)|\}/g)) {
    if (brace === '}') open.pop()
    else open.push(open.at(-1) === 'argument' ? 'option' : 'argument')
    if (brace !== '}' && open.at(-1) === 'argument') names.add(name)
  }
  return [...names].sort()
}

test('German has every text of the catalogue, with the same placeholders', () => {
  const {
    labels: _,
    choices: __,
    ...translated
  } = {
    ...german,
    ...germanOfRecords,
    ...germanOfSettings,
    charts: germanOfCharts,
    entrance: germanOfEntrance,
    imports: germanOfImports,
    inbox: germanOfInbox,
    profile: germanOfProfile,
    push: germanOfPush,
  }
  expect(keysOf(catalogue).length).toBeGreaterThan(300)
  expect(keysOf(translated).sort()).toEqual(keysOf(catalogue).sort())
  const differing = keysOf(catalogue).filter(
    (key) => argumentsOf(textAt(catalogue, key)).join() !== argumentsOf(textAt(translated, key)).join(),
  )
  expect(differing).toEqual([])
})

/** The content of every source file. */
const sources = import.meta.glob<string>('../**/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true })

/** Matches texts for values of the API, and translators that are passed to another file. */
const readByValue =
  /^(?:operators|record\.(?:tasks|text|timeline)$|imports\.(?:employment$|hints)|access\.passkeys|settings\.system\.(?:warning|error)$)/

/** A pattern for the keys that a literal or a template such as `codes.${code}` can produce. */
const pattern = (template: string): string =>
  template
    .split(/\$\{[^}]*\}/)
    .map((part) => part.replaceAll('.', String.raw`\.`))
    .join(String.raw`[\w-]+`)

/** The keys that a file can use: each of its areas with each of its strings. */
function keysReadBy(source: string): RegExp[] {
  const found = (expression: RegExp) =>
    [...source.matchAll(expression)].map(([, text, template]) => pattern(text ?? template ?? '')).join('|')
  const areas = found(/useTranslations\((?:'([\w.]+)'|`([\w.${}]+)`)\)/g)
  return areas === '' ? [] : [new RegExp(`^(?:${areas})\\.(?:${found(/'([\w.-]+)'|`([\w.${}-]+)`/g)})$`)]
}

test('every text of the catalogue is used', () => {
  const read = Object.values(sources).flatMap(keysReadBy)
  const unread = keysOf(catalogue).filter((key) => !readByValue.test(key) && !read.some((keys) => keys.test(key)))
  expect(unread).toEqual([])
})

test('error messages have the same meaning in German', () => {
  expect(Object.keys(germanRefusals).sort()).toEqual(Object.keys(refusals).sort())
  const values = (texts: Record<string, string>) => Object.values(texts).map((text) => argumentsOf(text).join())
  expect(values(germanRefusals)).toEqual(values(refusals))
})
