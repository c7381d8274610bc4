import { eventPrefix, showEvent } from '../feed/event.ts'
import { formatPosition } from '../feed/position.ts'
import type { Connection, Database } from '../platform/database/database.ts'
import { encodeId } from '../platform/model/ids.ts'
import type { JsonObject } from '../platform/model/json.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { findErased } from './delivery-store.ts'
import type { ClaimedDelivery } from './dispatch-store.ts'
import { composeMessage, type Message } from './message.ts'
import { findEmptied, readEvents, readObjects, type SentEvents } from './message-store.ts'
import { webhookActor } from './selection-store.ts'
import type { EventSources } from './store.ts'
import { splitType } from './types.ts'

/** Milliseconds for which a message is used again: webhooks usually send an event at about the same time. */
const reuse = 2000
/** Messages have at most 20 kB. */
const maxRecent = 500

interface MessagesOptions {
  database: Database
  sources: EventSources
  /** Where the API is reached. */
  origin: () => string
}

/** `message` is undefined if the event is no longer stored. */
interface Composed {
  message: Message | undefined
}

/**
 * Composes the messages of events, once for all webhooks of an organization that send them within a moment. An event that is
 * sent again shows its record as it is by then.
 */
export class Messages {
  readonly #options: MessagesOptions
  /** By organization and event (uuids), oldest first. */
  readonly #recent = new Map<string, { composed: Promise<Composed>; until: number }>()
  #isForgetting = false

  constructor(options: MessagesOptions) {
    this.#options = options
  }

  /** The message of each delivery. */
  async compose(organizationId: string, deliveries: readonly ClaimedDelivery[]): Promise<readonly Composed[]> {
    const shared = await this.#allRecentOf(organizationId, deliveries)
    const own = this.#composeNew(
      organizationId,
      deliveries.filter((_, index) => !shared[index]),
    )
    const ofOne = async (delivery: ClaimedDelivery, index: number): Promise<Composed> => {
      // Another session may have failed to compose it.
      const found = await shared[index]?.catch(() => undefined)
      if (found) return found
      const composed = shared[index] ? await this.#composeNew(organizationId, [delivery]) : await own
      return { message: composed.get(delivery.eventId) }
    }
    return Promise.all(deliveries.map(ofOne))
  }

  /**
   * The messages of deliveries that have waited, by delivery (uuid): composed again, without values, if the person was erased
   * meanwhile. Those whose events are no longer stored are missing.
   */
  async refresh(
    organizationId: string,
    waiting: readonly (ClaimedDelivery & { message: Message })[],
  ): Promise<ReadonlyMap<string, Message>> {
    const ids = waiting.map(({ id }) => id)
    const erased = await findErased(this.#options.database.reader(webhookActor(organizationId)), ids)
    const gone = waiting.filter(({ id }) => erased.has(id))
    const again = await this.#composeAll(organizationId, gone, { withValues: false })
    return new Map(
      waiting.flatMap((one): [string, Message][] => {
        const message = erased.has(one.id) ? again.get(one.eventId) : one.message
        return message ? [[one.id, message]] : []
      }),
    )
  }

  /** What was composed a moment ago, unless its event has lost its values since: that of an erased person must not be sent. */
  async #allRecentOf(
    organizationId: string,
    deliveries: readonly ClaimedDelivery[],
  ): Promise<readonly (Promise<Composed> | undefined)[]> {
    const found = deliveries.map((delivery) => this.#recentOf(organizationId, delivery))
    const reused = deliveries.filter((_, index) => found[index])
    if (reused.length === 0) return found
    const emptied = await findEmptied(this.#options.database.reader(webhookActor(organizationId)), reused)
    return found.map((one, index) => (emptied.has(deliveries[index]?.eventId ?? '') ? undefined : one))
  }

  #recentOf(organizationId: string, delivery: ClaimedDelivery): Promise<Composed> | undefined {
    const recent = isFirst(delivery) && this.#recent.get(keyOf(organizationId, delivery))
    return recent && recent.until > performance.now() ? recent.composed : undefined
  }

  /** By event; those that are no longer stored are missing. */
  #composeNew(organizationId: string, deliveries: readonly ClaimedDelivery[]): Promise<ReadonlyMap<string, Message>> {
    const composing = this.#composeAll(organizationId, deliveries, { withValues: true })
    const until = performance.now() + reuse
    for (const delivery of deliveries.filter(isFirst)) {
      const key = keyOf(organizationId, delivery)
      const composed = composing.then((messages): Composed => ({ message: messages.get(delivery.eventId) }))
      composed.catch(() => this.#recent.delete(key))
      // At the end again.
      this.#recent.delete(key)
      this.#recent.set(key, { composed, until })
    }
    const excess = this.#recent.size - maxRecent
    for (const key of [...this.#recent.keys()].slice(0, Math.max(0, excess))) this.#recent.delete(key)
    this.#forgetInTime()
    return composing
  }

  /** Also in a process that sends nothing more, memory keeps no values for longer than they are used. */
  #forgetInTime(): void {
    if (this.#isForgetting || this.#recent.size === 0) return
    this.#isForgetting = true
    setTimeout(() => {
      this.#isForgetting = false
      for (const [key, { until }] of this.#recent) if (until <= performance.now()) this.#recent.delete(key)
      this.#forgetInTime()
    }, reuse).unref()
  }

  async #composeAll(
    organizationId: string,
    deliveries: readonly ClaimedDelivery[],
    { withValues }: { withValues: boolean },
  ): Promise<ReadonlyMap<string, Message>> {
    const messages = new Map<string, Message>()
    if (deliveries.length === 0) return messages
    const { database, sources } = this.#options
    const db = database.reader(webhookActor(organizationId))
    const resources = new Map(sources.followed().map((resource) => [resource.singular, resource]))
    const sent = await readEvents(db, deliveries)
    const objects = await readAllObjects(db, resources, deliveries)
    for (const delivery of deliveries) {
      const resource = resources.get(splitType(delivery.type).singular)
      const stored = resource && eventOf(delivery, resource, sent)
      if (!stored) continue
      const event = withValues ? stored : { ...stored, values: null, changes: [] }
      const href = this.#hrefOf(resource, delivery, event)
      messages.set(
        delivery.eventId,
        composeMessage(event, withValues ? objects.get(delivery.recordId) : undefined, href),
      )
    }
    return messages
  }

  /** Where the rest of a large message is: the record or, without a path to it, the event in the feed. */
  #hrefOf(resource: Resource, { recordId }: ClaimedDelivery, { position }: JsonObject): string {
    const path = this.#options.sources.recordPath(resource)
    const found = path === undefined ? `/v5/events?limit=1&after=${previous(String(position))}` : `${path}/${recordId}`
    return `${this.#options.origin()}${found}`
  }
}

const isFirst = ({ attemptCount }: ClaimedDelivery): boolean => attemptCount === 1

const keyOf = (organizationId: string, { eventId }: ClaimedDelivery): string => `${organizationId} ${eventId}`

/** The texts of the records, by their ids as callers see them. */
async function readAllObjects(
  db: Connection,
  resources: ReadonlyMap<string, Resource>,
  deliveries: readonly ClaimedDelivery[],
): Promise<ReadonlyMap<string, string>> {
  const objects = new Map<string, string>()
  for (const resource of resources.values()) {
    const ofResource = deliveries.filter(({ type }) => splitType(type).singular === resource.singular)
    if (ofResource.length === 0) continue
    const texts = await readObjects(db, resource, [...new Set(ofResource.map(({ recordId }) => recordId))])
    for (const [uuid, text] of texts) objects.set(encodeId(resource.idPrefix, uuid), text)
  }
  return objects
}

/** The position before this one. */
function previous(position: string): string {
  const [epoch = '', number] = position.split('-')
  return formatPosition({ epoch, number: Math.max(0, Number(number) - 1) })
}

/** The event as the feed shows it; undefined if it is no longer stored. */
function eventOf(
  { isTest, eventId, type, recordId, createdAt }: ClaimedDelivery,
  resource: Resource,
  { epoch, events }: SentEvents,
): JsonObject | undefined {
  const event = events.get(eventId)
  if (!isTest) return event && showEvent(event, { resource, epoch })
  return {
    id: encodeId(eventPrefix, eventId),
    position: formatPosition({ epoch, number: 0 }),
    type,
    resource: resource.singular,
    kind: splitType(type).kind,
    recordId,
    revision: null,
    values: null,
    changes: [],
    cause: { kind: 'person', userId: null, keyId: null, importId: null, importRowId: null },
    createdAt,
    isTest: true,
  }
}
