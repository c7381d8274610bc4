import type { Connection } from '../platform/database/database.ts'
import type { Reader } from '../platform/model/caller.ts'
import { identifier, join, raw, type Sql, sql } from '../platform/model/sql.ts'
import { listedAcrossParents } from '../platform/records/declare/define.ts'
import { root } from '../platform/records/filter/target.ts'
import { withinScope } from '../platform/records/page/page.ts'
import { entryRecords, type EntryResource } from './records.ts'

/** A record (uuid) that an entry names. */
export interface Named {
  resource: EntryResource
  recordId: string
}

/** A person, and the resources whose records their role shows. */
export interface NamingReader {
  reader: Reader
  sees: (resource: EntryResource) => boolean
}

/** What each of these entries names: itself, or the first records of its group. */
export const namedBy = (entries: readonly { resource: EntryResource; recordIds: readonly string[] }[]): Named[] =>
  entries.flatMap(({ resource, recordIds }) => recordIds.map((recordId) => ({ resource, recordId })))

/** The title of the first of these records (uuids) that the person sees. */
export const firstTitle = (titles: ReadonlyMap<string, string>, recordIds: readonly string[]): string | undefined =>
  recordIds.map((id) => titles.get(id)).find((title) => title !== undefined)

const maxTitle = 200

const titleColumns: Readonly<Record<EntryResource, Sql>> = {
  tasks: raw('record.title'),
  deals: raw('record.name'),
  contacts: raw('record.name'),
  companies: raw('record.name'),
  notes: raw(`record.body`),
  // The words of the note that are the reason for it.
  suggestions: raw(`coalesce(record.params ->> 'title', record.evidence ->> 'text')`),
  imports: raw('record.name'),
  webhooks: raw('record.url'),
}

/** The titles of the records by id (uuid); of none that is gone or that the person does not see. */
export async function readTitles(
  db: Connection,
  { reader, sees }: NamingReader,
  named: readonly Named[],
): Promise<ReadonlyMap<string, string>> {
  const names = [...new Set(named.map(({ resource }) => resource))].filter(sees)
  if (names.length === 0) return new Map()
  const scope = { organization: db.organization, actor: reader }
  const parts = names.map((name) => {
    const resource = listedAcrossParents(entryRecords[name])
    const ids = named.filter((one) => one.resource === name).map(({ recordId }) => recordId)
    return sql`
      select ${raw(root)}.id, left(${titleColumns[name]}, ${raw(String(maxTitle))}) as title
      from ${identifier(resource.table)} ${raw(root)}
      where ${withinScope(resource, scope)} and ${raw(root)}.id = any(${ids}::uuid[])`
  })
  const rows = await db.query<{ id: string; title: string }>(join(parts, ' union all '))
  return new Map(rows.map(({ id, title }) => [id, title]))
}
