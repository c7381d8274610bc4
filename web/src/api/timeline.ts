import type { InfiniteData } from '@tanstack/react-query'
import { ChangesMeanwhile } from './changes-meanwhile.ts'
import type { Schemas, Whole } from './client.ts'
import type { Names } from './names.ts'
import { queryClient } from './query-client.ts'

type Selected = Whole<Schemas['TimelineEntrySelection']>

/** Timelines select nothing, so only these values inside an entry can be null. */
type Inside<Part, Nullable extends keyof Part> = {
  [Key in keyof Part]: Key extends Nullable ? Part[Key] : NonNullable<Part[Key]>
}

export type Entry = Omit<Selected, 'note' | 'task' | 'change' | 'stageMove'> & {
  note: Inside<NonNullable<Selected['note']>, never> | null
  task: Inside<NonNullable<Selected['task']>, 'dueDate' | 'dueAt' | 'assigneeId' | 'doneAt'> | null
  change: Inside<NonNullable<Selected['change']>, 'importId' | 'importRowId'> | null
  stageMove: Inside<NonNullable<Selected['stageMove']>, never> | null
}
export type EntryKind = Entry['kind']

/** A record that has a timeline. */
export interface Owner {
  resource: 'contacts' | 'companies' | 'deals'
  id: string
}

/** All timelines that were read; invalidated after each change of a note or a task. */
export const timelineKey = ['timeline'] as const

export interface TimelinePage {
  entries: readonly Entry[]
  names: Names
  etag: string | undefined
}

/** Changes that a timeline that is being read does not contain yet. */
export const timelineChanges = new ChangesMeanwhile<TimelinePage>()

/** Changes entries of all timelines that were read, before the service has the change; undefined removes an entry. */
export function replaceEntries(replace: (entry: Entry) => Entry | undefined): void {
  const change = (page: TimelinePage) => ({ ...page, entries: page.entries.flatMap((entry) => replace(entry) ?? []) })
  timelineChanges.add(change)
  queryClient.setQueriesData<InfiniteData<TimelinePage, string>>(
    { queryKey: timelineKey },
    (data) => data && { ...data, pages: data.pages.map(change) },
  )
}

/** After a note or a task was created, changed, deleted or restored. */
export const readTimelinesAgain = (): Promise<void> => queryClient.invalidateQueries({ queryKey: timelineKey })
