import { type Language, locales } from '../platform/model/languages.ts'
import type { EntryKind } from './kinds.ts'
import type { EntryResource } from './records.ts'

type Sentence = Readonly<Record<Language, string>>

const sentences: Readonly<Record<EntryKind, Sentence>> = {
  assigned: { en: 'Assigned to you', de: 'Wurde Ihnen zugewiesen' },
  mentioned: { en: 'A note mentions you', de: 'Eine Notiz erwähnt Sie' },
  suggestion: { en: 'There is a suggestion', de: 'Es gibt einen Vorschlag' },
  importFailed: { en: 'The import has failed rows', de: 'Der Import hat fehlgeschlagene Zeilen' },
  webhookDisabled: { en: 'The webhook was disabled', de: 'Der Webhook wurde abgeschaltet' },
  reminder: { en: 'Reminder', de: 'Erinnerung' },
  taskDue: { en: 'The task is overdue', de: 'Die Aufgabe ist überfällig' },
}

/** What is assigned together. */
const groups: Readonly<Partial<Record<EntryResource, Sentence>>> = {
  tasks: { en: '{count} tasks were assigned to you', de: 'Ihnen wurden {count} Aufgaben zugewiesen' },
  deals: { en: '{count} deals were assigned to you', de: 'Ihnen wurden {count} Geschäfte zugewiesen' },
  contacts: { en: '{count} contacts were assigned to you', de: 'Ihnen wurden {count} Kontakte zugewiesen' },
  companies: { en: '{count} companies were assigned to you', de: 'Ihnen wurden {count} Firmen zugewiesen' },
}

export interface Said {
  kind: EntryKind
  resource: EntryResource
  recordCount: number
}

export const isGroup = ({ recordCount }: Pick<Said, 'recordCount'>): boolean => recordCount > 1

/** What is said about an entry outside of the application: of a group completely, otherwise next to the record's title. */
export function sentenceOf(entry: Said, language: Language): string {
  const group = isGroup(entry) ? groups[entry.resource] : undefined
  const count = new Intl.NumberFormat(locales[language]).format(entry.recordCount)
  return group?.[language].replace('{count}', count) ?? sentences[entry.kind][language]
}
