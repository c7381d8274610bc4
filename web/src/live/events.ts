import { forgetDeletion } from '../api/deletions.ts'
import { isOwnWrite } from '../api/own-writes.ts'
import type { LiveEvent } from '../api/query-client.ts'
import { sessionScope } from '../api/session.ts'

/** An event as tabs pass it to each other: what they need of one of the API. */
export interface SharedEvent extends Omit<LiveEvent, 'isOwn'> {
  revision: number | null
  /** The person who made the change in a browser. */
  personId: string | null
}

/** An event of the API; only what is read. */
interface FeedEvent {
  resource: string
  kind: string
  recordId: string
  revision: number | null
  values: object | null
  changes: readonly { field: string; before: unknown; after: unknown }[]
  cause: { kind: string; userId: string | null; importId: string | null }
}

/** The person's inbox has changed; the stream also says so at its beginning. It belongs to no record. */
const inboxEvent: SharedEvent = {
  ...{ resource: 'inbox', kind: 'updated', recordId: 'inbox', ids: [], fields: [] },
  ...{ revision: null, personId: null },
}

/** What a block of the stream reports: an event of the feed, or of the type `inbox` or `unreachable`. */
export function eventOf(type: string | undefined, data: string): SharedEvent {
  if (type === 'inbox') return inboxEvent
  const event = JSON.parse(data) as FeedEvent
  return type === 'unreachable' ? unreachableEvent(event) : sharedEvent(event)
}

const idPattern = /(?<=")[a-z]{3}_[0-9a-f]{32}(?=")/g

function sharedEvent({ resource, kind, recordId, revision, values, changes, cause }: FeedEvent): SharedEvent {
  const named = JSON.stringify([recordId, values, changes, cause.importId]).match(idPattern)
  return {
    ...{ resource, kind, recordId, revision },
    ids: [...new Set(named)],
    fields: changes.map(({ field }) => field),
    personId: cause.kind === 'person' ? cause.userId : null,
  }
}

/** A record that the person does not see any longer: for them, it is as if it was deleted. */
const unreachableEvent = ({ resource, recordId }: Pick<FeedEvent, 'resource' | 'recordId'>): SharedEvent => ({
  ...{ resource, recordId, kind: 'deleted', revision: null, personId: null },
  ids: [recordId],
  fields: [],
})

/** Does a record mention any of these ids, such as in the name of its company? */
export function mentionsAny(record: object, ids: ReadonlySet<string>): boolean {
  return (
    ids.size > 0 &&
    JSON.stringify(record)
      .match(idPattern)
      ?.some((id) => ids.has(id)) === true
  )
}

type EventListener = (events: readonly LiveEvent[]) => void
const eventListeners = new Set<EventListener>()
const lossListeners = new Set<() => void>()

/** Calls the listener with what has happened, several times a second at most. */
export function onEvents(listener: EventListener): void {
  eventListeners.add(listener)
}

/** Calls the listener when events may be missing: everything on the screen may be out of date. */
export function onEventsLost(listener: () => void): void {
  lossListeners.add(listener)
}

export function publish(shared: readonly SharedEvent[]): void {
  if (shared.length === 0) return
  for (const { kind, recordId } of shared) if (kind === 'restored') forgetDeletion(recordId)
  const events = shared.map(({ revision, personId, ...event }): LiveEvent => ({
    ...event,
    isOwn: personId !== null && personId === sessionScope()?.userId && isOwnWrite(event.recordId, revision),
  }))
  for (const listener of eventListeners) listener(events)
}

export function publishLoss(): void {
  for (const listener of lossListeners) listener()
}
