import { type ComponentType, lazy } from 'react'
import type { RecordData } from '../api/schema.ts'

/** A part of a record's page that does not follow from the description of the resource. */
export interface RecordSection {
  /** Key of its title in the messages of records. */
  title: 'employments' | 'notes' | 'people'
  /** Loaded with the first page that shows it. */
  content: ComponentType<{ record: RecordData }>
}

/** The additional parts of record pages, by resource, in their order. */
export const recordSections: Readonly<Record<string, readonly RecordSection[]>> = {
  contacts: [
    { title: 'notes', content: lazy(async () => ({ default: (await import('./contacts/notes.tsx')).Notes })) },
    {
      title: 'employments',
      content: lazy(async () => ({ default: (await import('./contacts/employments.tsx')).Employments })),
    },
  ],
  companies: [
    { title: 'people', content: lazy(async () => ({ default: (await import('./companies/people.tsx')).People })) },
  ],
}
