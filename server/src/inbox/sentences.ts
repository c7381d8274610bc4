import type { Language } from '../platform/model/languages.ts'
import type { EntryKind } from './kinds.ts'

/** What is said about an entry outside of the application, next to the title of its record. */
export const sentences: Readonly<Record<EntryKind, Readonly<Record<Language, string>>>> = {
  assigned: { en: 'Assigned to you', de: 'Wurde Ihnen zugewiesen' },
  mentioned: { en: 'A note mentions you', de: 'Eine Notiz erwähnt Sie' },
  suggestion: { en: 'There is a suggestion', de: 'Es gibt einen Vorschlag' },
  importFailed: { en: 'The import has failed rows', de: 'Der Import hat fehlgeschlagene Zeilen' },
  webhookDisabled: { en: 'The webhook was disabled', de: 'Der Webhook wurde abgeschaltet' },
  reminder: { en: 'Reminder', de: 'Erinnerung' },
  taskDue: { en: 'The task is overdue', de: 'Die Aufgabe ist überfällig' },
}
