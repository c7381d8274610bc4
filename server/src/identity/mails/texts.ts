import { type Language, locales } from '../../platform/model/languages.ts'
import { german } from './texts-de.ts'
import { english, type Texts } from './texts-en.ts'

/** The texts of mails, by language. */
export const texts: Readonly<Record<Language, Texts>> = { en: english, de: german }

export type Values = Readonly<Record<string, string>>

/** The text with these values instead of `{name}`. */
export const fill = (text: string, values: Values): string =>
  text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')

/** Writes in one language. */
export interface Writer {
  language: Language
  texts: Texts
  number(count: number): string
  /** The form for this number, with the number as `{count}`. */
  counted(forms: { one: string; other: string }, count: number): string
  /** A date and a time, with the time zone. */
  time(at: Date, timeZone: string): string
}

export function writerFor(language: Language): Writer {
  const locale = locales[language]
  const number = (count: number) => new Intl.NumberFormat(locale).format(count)
  return {
    language,
    texts: texts[language],
    number,
    counted: ({ one, other }, count) =>
      fill(new Intl.PluralRules(locale).select(count) === 'one' ? one : other, { count: number(count) }),
    time: (at, timeZone) =>
      new Intl.DateTimeFormat(locale, {
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        timeZoneName: 'short',
        timeZone,
      }).format(at),
  }
}
