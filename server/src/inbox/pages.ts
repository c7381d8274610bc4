import { encodeId } from '../platform/model/ids.ts'
import { entryRecords, type EntryResource } from './records.ts'

/** Where the application shows the inbox. */
export const inboxPage = '/inbox'

/** Resources whose records have a page. */
const withPages: readonly EntryResource[] = ['tasks', 'deals', 'contacts', 'companies', 'imports']

/** The page of the application that shows the record (uuid); the inbox, if it has none. */
export const pageOf = (entry: { resource: EntryResource; recordId: string }): string =>
  withPages.includes(entry.resource) ? `/${entry.resource}/${shownId(entry)}` : inboxPage

/** The id of the record (uuid) as the API shows it. */
export const shownId = ({ resource, recordId }: { resource: EntryResource; recordId: string }): string =>
  encodeId(entryRecords[resource].idPrefix, recordId)

/** The title as it is shown outside of the application: on one line, and with names instead of mentions. */
export const plainTitle = (title: string): string =>
  title
    .replaceAll(/@\[([^\]\n]*)\]\(\w*\)?/g, '@$1')
    .replaceAll(/\s+/g, ' ')
    .trim()
