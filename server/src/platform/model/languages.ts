export const languages = ['en', 'de'] as const
export type Language = (typeof languages)[number]

const isLanguage = (name: string | null | undefined): name is Language => languages.some((one) => one === name)

export const firstLanguage = (...names: readonly (string | null | undefined)[]): Language | undefined =>
  names.find(isLanguage)

/** Of English, the one whose days and months cannot be confused. */
export const locales: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' }
