import { suggestions } from '../assistant/suggestions/resource.ts'
import { companies } from '../crm/companies/resource.ts'
import { contacts } from '../crm/contacts/resource.ts'
import { deals } from '../crm/deals/resource.ts'
import { allNotes } from '../crm/notes/resource.ts'
import { tasks } from '../crm/tasks/resource.ts'
import { imports } from '../intake/imports/resource.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { webhooks } from '../webhooks/resource.ts'

export const entryResources = [
  'tasks',
  'deals',
  'contacts',
  'companies',
  'notes',
  'suggestions',
  'imports',
  'webhooks',
] as const
export type EntryResource = (typeof entryResources)[number]

/** The resources whose records entries name. */
export const entryRecords: Readonly<Record<EntryResource, Resource>> = {
  tasks,
  deals,
  contacts,
  companies,
  notes: allNotes,
  suggestions,
  imports,
  webhooks,
}
