import { readPreference, storePreference } from './storage.ts'

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (text: string | undefined): text is Language => languages.some((language) => language === text)

/** The chosen language, otherwise the browser's first language that is supported. */
export function currentLanguage(): Language {
  const chosen = readPreference('language')
  if (isLanguage(chosen)) return chosen
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en'
}

/** Chooses the language in this browser and reloads the application. */
export function setLanguage(language: Language): void {
  storePreference('language', language)
  location.reload()
}

/** The locale for dates and numbers: the browser's, such as `en-GB`, if it has this language. */
export const localeOf = (language: Language): string =>
  navigator.languages.find((tag) => tag.startsWith(language)) ?? language

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone
