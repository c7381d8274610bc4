import type { Language } from '../preferences/locale.ts'
import type { messages as english } from './en/index.ts'

/** The catalogue: one file per area; every language has the same keys, except for labels (messages.test.ts). */
export type Messages = typeof english

declare module 'use-intl' {
  interface AppConfig {
    Messages: Messages
  }
}

/** Loads a language; each is a separate file of the build. */
export const loadMessages = async (language: Language): Promise<Messages> =>
  language === 'de' ? (await import('./de/index.ts')).messages : (await import('./en/index.ts')).messages
