import { covers } from '../platform/model/scopes.ts'
import { ApiError, type FieldError, invalidParameters } from '../platform/model/errors.ts'
import { decodeId } from '../platform/model/ids.ts'
import { assertScope } from '../platform/http/effects/denied-scope.ts'
import type { Part } from '../platform/http/part.ts'
import type { ReadRequest, ReadRoute, RouteResponse } from '../platform/http/route.ts'
import { type EventKind, eventKinds } from '../platform/records/declare/event-kinds.ts'
import { isInFeed, type Resource } from '../platform/records/declare/define.ts'
import { ListError, splitList } from '../platform/records/request/query-string.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import { eventSchema, showEvent } from './event.ts'
import { type FeedPage, type FeedRequest, readFeed } from './page-store.ts'
import { formatPosition, parsePosition, type Position } from './position.ts'
import { placeEvents, readLastPosition } from './positions-store.ts'

const defaultLimit = 100
const maxLimit = 1000
/** Seconds; shorter than the time after which proxies usually give up a response. */
const maxWait = 25
/** The beginning of the feed, as long as it is kept. */
const start = 'start'

const path = '/v5/events'
const example = '3f9a1c07-184'
const positionSchema = { type: 'string', description: 'Opaque; send it as `after`.' }

/** The scope that shows the events of a resource: that of its list. */
const scopeOf = ({ singular }: Resource): string => `${singular}:list:read`

export function feedPart(resources: () => readonly Resource[]): Part {
  const followed = () => resources().filter(isInFeed)
  return {
    routes: [listRoute(followed), positionRoute],
    headings: { events: 'Every change of a record, in the order in which changes were made.' },
    roleGroups: { event: 'visible' },
  }
}

const shared = { kind: 'read', method: 'GET', tag: 'events', params: {}, scope: 'event:list:read' } as const

const positionRoute: ReadRoute = {
  ...shared,
  path: `${path}/position`,
  operation: 'getEventPosition',
  summary: 'Get the position of the latest event',
  description: 'Keep it before you read all records: the feed continues from it, so that nothing is missed.',
  query: { kind: 'none' },
  responses: {
    200: { kind: 'schema', component: 'EventPosition', schema: closedObject({ position: positionSchema }) },
  },
  async handle({ services, db }) {
    const position = formatPosition(await readLastPosition(services.database, db))
    return { status: 200, text: JSON.stringify({ position }) }
  },
}

const listRoute = (followed: () => readonly Resource[]): ReadRoute => ({
  ...shared,
  path,
  operation: 'listEvents',
  summary: 'Follow the changes of all records',
  description: `The events after a position, oldest first: each exactly once, and none before another that it depends on. A change is in the feed when its response arrives. The caller sees the events of the resources that its scopes allow to list, and of records within its reach. Repeat the request with the \`position\` of the response, at once while \`hasMore\` is true.`,
  query: {
    kind: 'parameters',
    parameters: {
      after: `The position to continue behind: of an event, of a response, or from \`${path}/position\`. \`${start}\` is the beginning of the feed, while it is kept.`,
      limit: `Maximum number of events, 1 to ${maxLimit}; ${defaultLimit} by default.`,
      wait: `Seconds to wait for an event if there is none yet, 0 to ${maxWait}.`,
      resource: 'Only events of these resources: nouns as in scopes, separated by commas.',
      kind: `Only events of these kinds, separated by commas: ${eventKinds.join(', ')}.`,
      record: 'Only events of these records: ids, separated by commas.',
    },
    examples: { after: example, limit: '500', wait: '25', resource: 'contact,company', kind: 'created,updated' },
    allowsOthers: false,
  },
  errors: [400, 410],
  responses: {
    200: {
      kind: 'schema',
      component: 'Events',
      schema: closedObject({
        events: { type: 'array', items: eventSchema },
        position: { ...positionSchema, description: 'Continue here; also behind events that the filters left out.' },
        hasMore: { type: 'boolean', description: 'True if there are more events already, which may match.' },
      }),
    },
  },
  handle: (request) => follow(request, followed()),
})

interface Wish extends Omit<FeedRequest, 'after'> {
  /** Undefined: from the beginning. */
  after: Position | undefined
  /** Milliseconds. */
  wait: number
}

async function follow(request: ReadRequest, followed: readonly Resource[]): Promise<RouteResponse> {
  const { services, caller } = request
  const wish = await parse(request, followed)
  const end = performance.now() + wish.wait
  for (;;) {
    const page = await readCurrent(request, wish)
    const left = end - performance.now()
    const hasMore = page.reached < page.lastPosition
    if (page.events.length > 0 || hasMore || left <= 0 || page.epoch === undefined) {
      return { status: 200, text: textOf(page, followed, hasMore) }
    }
    wish.after = { epoch: page.epoch, number: page.reached }
    await services.feed.waitFor(caller.organizationId, page.reached, left)
  }
}

function textOf({ epoch = '', events, reached }: FeedPage, followed: readonly Resource[], hasMore: boolean): string {
  const bySingular = new Map(followed.map((resource) => [resource.singular, resource]))
  return JSON.stringify({
    events: events.flatMap((event) => {
      const resource = bySingular.get(event.resource)
      return resource ? [showEvent(event, { resource, epoch })] : []
    }),
    position: formatPosition({ epoch, number: reached }),
    hasMore,
  })
}

/** The page, with what was committed before the request. Error: 410. */
async function readCurrent({ services, db }: ReadRequest, { after, ...wish }: Wish): Promise<FeedPage> {
  const feedRequest = { ...wish, after: after?.number ?? 0 }
  const first = await readFeed(db, feedRequest, services.eventDays)
  const isShort = first.isWaiting || first.epoch === undefined
  if (isShort) await placeEvents(services.database, db.organizationId)
  const page = isShort ? await readFeed(db, feedRequest, services.eventDays) : first
  if (page.isExpired || (after !== undefined && page.epoch !== after.epoch)) throw expired()
  return page
}

const expired = (): ApiError =>
  new ApiError(
    'cursor_expired',
    'The feed no longer has what follows this position. Read all records again: first keep the position from GET /v5/events/position, and continue from there.',
  )

/** Errors: 400, and 403 for a resource that the caller must not list. */
async function parse({ services, caller, client, query }: ReadRequest, followed: readonly Resource[]): Promise<Wish> {
  const errors: FieldError[] = []
  const sent = (name: string) => query.find((parameter) => parameter.name === name)?.value
  const integer = (name: string, { min, max, initial }: { min: number; max: number; initial: number }): number => {
    const value = sent(name)
    if (value === undefined) return initial
    const number = /^\d{1,6}$/.test(value) ? Number(value) : -1
    if (number < min || number > max) errors.push({ field: name, message: `expected an integer from ${min} to ${max}` })
    return number
  }
  const list = <Item>(name: string, read: (text: string) => Item | undefined, expected: string): Item[] | undefined => {
    const value = sent(name)
    if (value === undefined) return undefined
    return itemsOf(value).flatMap((text) => {
      const item = text === undefined ? undefined : read(text)
      if (item === undefined) errors.push({ field: name, message: `expected ${expected}` })
      return item === undefined ? [] : [item]
    })
  }
  const text = sent('after')
  const after = text === undefined ? undefined : parsePosition(text)
  if (text === undefined)
    errors.push({ field: 'after', message: `is required: a position, such as that of GET ${path}/position, or ${start}` })
  else if (after === undefined && text !== start) errors.push({ field: 'after', message: 'expected a position of this feed' })
  const limit = integer('limit', { min: 1, max: maxLimit, initial: defaultLimit })
  const wait = integer('wait', { min: 0, max: maxWait, initial: 0 }) * 1000
  const nouns = followed.map(({ singular }) => singular)
  const wanted = list('resource', (noun) => followed.find(({ singular }) => singular === noun), `any of ${nouns.join(', ')}`)
  const kinds = list('kind', (kind) => eventKinds.find((one): one is EventKind => one === kind), `any of ${eventKinds.join(', ')}`)
  const recordIds = list('record', (shown) => uuidOf(shown, followed), 'ids of records in the feed')
  if (errors.length > 0) throw invalidParameters(errors)
  for (const resource of wanted ?? []) await assertScope({ services, caller, client, route: path }, scopeOf(resource))
  const resources = (wanted ?? followed).filter((resource) => covers(caller.scopes, scopeOf(resource)))
  return { after, limit, wait, resources, kinds, recordIds }
}

/** Undefined for an empty item. */
function itemsOf(value: string): (string | undefined)[] {
  try {
    return splitList(value)
  } catch (error) {
    if (error instanceof ListError) return [undefined]
    throw error
  }
}

const uuidOf = (shown: string, followed: readonly Resource[]): string | undefined => {
  for (const { idPrefix } of followed) {
    const uuid = decodeId(idPrefix, shown)
    if (uuid !== undefined) return uuid
  }
  return undefined
}
