import { encodeId } from '../platform/model/ids.ts'
import { entryRecords, type EntryResource } from './records.ts'
import { isGroup } from './sentences.ts'

/** Where the application shows the inbox. */
export const inboxPage = '/inbox'

/** Resources whose records have a page. */
const withPages: readonly EntryResource[] = ['tasks', 'deals', 'contacts', 'companies', 'imports']

interface Shown {
  resource: EntryResource
  recordId: string
  recordCount: number
}

/**
 * The page of the application that shows the record (uuid); the inbox, if it has none. For several records, the list of
 * those of the person (uuid).
 */
export function pageOf(entry: Shown, userId: string): string {
  const { resource, recordId } = entry
  if (isGroup(entry)) return `/${resource}?filter.${ownerField(resource)}.equals=${encodeId('usr', userId)}&view=table`
  return withPages.includes(resource) ? `/${resource}/${shownId({ resource, recordId })}` : inboxPage
}

/** The id of the record (uuid) as the API shows it. */
export const shownId = ({ resource, recordId }: Pick<Shown, 'resource' | 'recordId'>): string =>
  encodeId(entryRecords[resource].idPrefix, recordId)

const ownerField = (resource: EntryResource): string => (resource === 'tasks' ? 'assigneeId' : 'ownerId')

/** The title as it is shown outside of the application: on one line, and with names instead of mentions. */
export const plainTitle = (title: string): string =>
  title
    .replaceAll(/@\[([^\]\n]*)\]\(\w*\)?/g, '@$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
