import type { Language } from '../preferences/locale.ts'
import type { messages as english } from './en/index.ts'
import type englishOfImports from './en/imports.json'
import type englishOfInbox from './en/inbox.json'
import type { messages as englishOfSettings } from './en/of-settings.ts'

/** The catalogue: one file per area; every language has the same keys, except for labels (messages.test.ts). */
export type Messages = typeof english
export type SettingsMessages = typeof englishOfSettings
interface ImportsMessages {
  imports: typeof englishOfImports
}
interface InboxMessages {
  inbox: typeof englishOfInbox
}
type LaterMessages = SettingsMessages & ImportsMessages & InboxMessages

declare module 'use-intl' {
  interface AppConfig {
    Messages: Messages & LaterMessages
  }
}

/** Loads a language, except for the texts of the start page, settings, imports and the inbox; each language is a separate file of the build. */
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

/** Loads the texts of the start page, to which the settings refer. */
export const loadHomeMessages = async (language: Language): Promise<void> => {
  const { default: home } = language === 'de' ? await import('./de/home.json') : await import('./en/home.json')
  addLaterMessages({ home })
}

/** Loads the texts of imports, which only their two pages need. */
export const loadImportsMessages = async (language: Language): Promise<void> => {
  const { default: imports } = language === 'de' ? await import('./de/imports.json') : await import('./en/imports.json')
  addLaterMessages({ imports })
}
