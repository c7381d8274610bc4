import { encodeId } from '../platform/model/ids.ts'
import { entryRecords, type EntryResource } from './records.ts'

/** Where the application shows the inbox. */
export const inboxPage = '/inbox'

/** Resources whose records have a page. */
const withPages: readonly EntryResource[] = ['tasks', 'deals', 'contacts', 'companies', 'imports']

/** The page of the application that shows the record (uuid); the inbox, if it has none. */
export const pageOf = ({ resource, recordId }: { resource: EntryResource; recordId: string }): string =>
  withPages.includes(resource) ? `/${resource}/${encodeId(entryRecords[resource].idPrefix, recordId)}` : inboxPage

/** The title as it is shown outside of the application: on one line, and with names instead of mentions. */
export const plainTitle = (title: string): string =>
  title
    .replaceAll(/@\[([^\]\n]*)\]\(\w*\)?/g, '@$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
