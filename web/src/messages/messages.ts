import type { Language } from '../preferences/locale.ts'
import type { messages as english } from './en/index.ts'
import type englishOfImports from './en/imports.json'
import type { messages as englishOfSettings } from './en/of-settings.ts'

/** The catalogue: one file per area; every language has the same keys, except for labels (messages.test.ts). */
export type Messages = typeof english
export type SettingsMessages = typeof englishOfSettings
interface ImportsMessages {
  imports: typeof englishOfImports
}

declare module 'use-intl' {
  interface AppConfig {
    Messages: Messages & SettingsMessages & ImportsMessages
  }
}

/** Loads a language, except for the texts of settings and imports; each language is a separate file of the build. */
export const loadMessages = async (language: Language): Promise<Messages> =>
  language === 'de' ? (await import('./de/index.ts')).messages : (await import('./en/index.ts')).messages

let ofSettings: SettingsMessages | undefined
let ofImports: ImportsMessages | undefined

/** Loads the texts of the settings: a quarter of all texts, which other pages do not need. */
export const loadSettingsMessages = async (language: Language): Promise<void> => {
  ofSettings ??=
    language === 'de' ? (await import('./de/of-settings.ts')).messages : (await import('./en/of-settings.ts')).messages
}

/** Loads the texts of imports, which only their two pages need. */
export const loadImportsMessages = async (language: Language): Promise<void> => {
  const load = async () =>
    language === 'de' ? (await import('./de/imports.json')).default : (await import('./en/imports.json')).default
  ofImports ??= { imports: await load() }
}

/** The texts of settings and imports that are loaded. */
export const laterMessages = (): Partial<SettingsMessages & ImportsMessages> => ({ ...ofSettings, ...ofImports })
