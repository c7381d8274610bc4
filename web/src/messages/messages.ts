import type { Language } from '../preferences/locale.ts'
import type { messages as english } from './en/index.ts'
import type englishOfCharts from './en/charts.json'
import type englishOfEntrance from './en/entrance.json'
import type englishOfImports from './en/imports.json'
import type englishOfInbox from './en/inbox.json'
import type englishOfProfile from './en/profile.json'
import type englishOfPush from './en/push.json'
import type { messages as englishOfRecords } from './en/of-records.ts'
import type { messages as englishOfSettings } from './en/of-settings.ts'

/** The catalogue: one file per area; every language has the same keys, except for labels (messages.test.ts). */
export type Messages = typeof english
export type SettingsMessages = typeof englishOfSettings
interface PartMessages {
  charts: typeof englishOfCharts
  entrance: typeof englishOfEntrance
  imports: typeof englishOfImports
  inbox: typeof englishOfInbox
  profile: typeof englishOfProfile
  push: typeof englishOfPush
}
type LaterMessages = SettingsMessages & typeof englishOfRecords & PartMessages

declare module 'use-intl' {
  interface AppConfig {
    Messages: Messages & LaterMessages
  }
}

/** Loads a language, except for the texts that only some pages need. Each language is a separate file of the build. */
export const loadMessages = async (language: Language): Promise<Messages> =>
  language === 'de' ? (await import('./de/index.ts')).messages : (await import('./en/index.ts')).messages

let later: Partial<LaterMessages> = {}

/** Those of these texts that are loaded. */
export const laterMessages = (): Partial<LaterMessages> => later

export const addLaterMessages = (loaded: Partial<LaterMessages>): void => void (later = { ...later, ...loaded })

/** Loads the texts of the settings: a quarter of all texts, which other pages do not need. */
export const loadSettingsMessages = async (language: Language): Promise<void> => {
  addLaterMessages(
    language === 'de' ? (await import('./de/of-settings.ts')).messages : (await import('./en/of-settings.ts')).messages,
  )
}

/** Loads the texts of the start page, to which the settings refer, and of its charts. */
export const loadHomeMessages = async (language: Language): Promise<void> => {
  const [{ default: home }, { default: charts }] = await Promise.all(
    language === 'de'
      ? [import('./de/home.json'), import('./de/charts.json')]
      : [import('./en/home.json'), import('./en/charts.json')],
  )
  addLaterMessages({ home, charts })
}

/** Loads the texts of imports, which only their two pages need. */
export const loadImportsMessages = async (language: Language): Promise<void> => {
  const { default: imports } = language === 'de' ? await import('./de/imports.json') : await import('./en/imports.json')
  addLaterMessages({ imports })
}

/** Loads the texts of links from mails and of the other pages around the log-in, which the application does not need. */
export const loadEntranceMessages = async (language: Language): Promise<void> => {
  const { default: entrance } =
    language === 'de' ? await import('./de/entrance.json') : await import('./en/entrance.json')
  addLaterMessages({ entrance })
}

/** Loads the texts of the profile, parts of which are also shown to somebody who needs a second factor. */
export const loadProfileMessages = async (language: Language): Promise<void> => {
  const { default: profile } = language === 'de' ? await import('./de/profile.json') : await import('./en/profile.json')
  addLaterMessages({ profile })
}

/** Loads the texts of timelines, suggestions and the board, which the pages of records need. */
export const loadRecordMessages = async (language: Language): Promise<void> => {
  addLaterMessages(
    language === 'de' ? (await import('./de/of-records.ts')).messages : (await import('./en/of-records.ts')).messages,
  )
}
