import { readPreference, storePreference } from './storage.ts'

export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (text: string | undefined): text is Language => languages.some((language) => language === text)

/** The chosen language, otherwise the first of the browser's that exists. */
export function currentLanguage(): Language {
  const chosen = readPreference('language')
  if (isLanguage(chosen)) return chosen
  return navigator.languages.map((tag) => tag.slice(0, 2)).find(isLanguage) ?? 'en'
}

/** Chooses the language in this browser; the application starts again in it. */
export function setLanguage(language: Language): void {
  storePreference('language', language)
  location.reload()
}

/** The locale of dates and numbers: the browser's if it is of this language, such as `en-GB`. */
export const localeOf = (language: Language): string =>
  navigator.languages.find((tag) => tag.startsWith(language)) ?? language

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone
