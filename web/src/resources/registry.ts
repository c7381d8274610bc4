import { Building2, type LucideIcon, Megaphone, UserRound } from 'lucide-react'
import type { ComponentType } from 'react'
import type { RecordData } from '../api/schema.ts'

/** A part of a record's page that the description of the resource does not know. */
export interface RecordSection {
  /** Key of its title in the messages of records. */
  title: 'employments' | 'notes' | 'people'
  load: () => Promise<ComponentType<{ record: RecordData }>>
}

/** How the application shows a resource. Everything else follows from `GET /v5/schema`. */
export interface ResourceView {
  icon: LucideIcon
  /** The second key of `g …`. */
  shortcut?: string
  /** The columns of the list at first; without it, the first fields of the resource. */
  columns?: readonly string[]
  /** Things have square avatars, people round ones. */
  isPerson?: boolean
  sections?: readonly RecordSection[]
}

const notes: RecordSection = { title: 'notes', load: async () => (await import('./contacts/notes.tsx')).Notes }
const employments: RecordSection = {
  title: 'employments',
  load: async () => (await import('./contacts/employments.tsx')).Employments,
}
const people: RecordSection = { title: 'people', load: async () => (await import('./companies/people.tsx')).People }

/** The resources with a list and record pages, in the order of the sidebar: one line each. */
export const resourceViews: Readonly<Record<string, ResourceView>> = {
  contacts: {
    icon: UserRound,
    shortcut: 'c',
    isPerson: true,
    columns: ['name', 'company', 'email', 'employmentTitle', 'status', 'tags', 'phone', 'countryCode', 'createdAt'],
    sections: [notes, employments],
  },
  companies: {
    icon: Building2,
    shortcut: 'o',
    columns: ['name', 'domain', 'industries', 'employeesCount', 'location', 'tags', 'lastActivityAt', 'createdAt'],
    sections: [people],
  },
  campaigns: { icon: Megaphone, shortcut: 'm', columns: ['name', 'subject', 'status', 'tags', 'updatedAt'] },
}
