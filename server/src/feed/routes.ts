import type { Part } from '../platform/http/part.ts'
import type { ReadRequest, ReadRoute, RouteResponse } from '../platform/http/route.ts'
import { invalidParameters } from '../platform/model/errors.ts'
import { isInFeed, type Resource } from '../platform/records/declare/define.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import { eventSchema } from './event.ts'
import { hasMore, readCurrent, showEvents } from './current.ts'
import { formatPosition } from './position.ts'
import { readLastPosition, readPositionBefore } from './positions-store.ts'
import { openStream } from './stream.ts'
import { defaultLimit, filterParameters, maxLimit, maxWait, parseWish, path, start } from './wish.ts'

const example = '3f9a1c07-184'
const maxSecondsAgo = 600
const positionSchema = { type: 'string', description: 'Opaque; send it as `after`.' }

export function feedPart(resources: () => readonly Resource[]): Part {
  const followed = () => resources().filter(isInFeed)
  return {
    routes: [listRoute(followed), positionRoute, streamRoute(followed)],
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
  query: {
    kind: 'parameters',
    parameters: {
      secondsAgo: `The position before the events of the last seconds, 0 to ${maxSecondsAgo}, for an application that has begun to read before it asks.`,
    },
    examples: { secondsAgo: '5' },
    allowsOthers: false,
  },
  errors: [400],
  responses: {
    200: { kind: 'schema', component: 'EventPosition', schema: closedObject({ position: positionSchema }) },
  },
  async handle({ services, db, query }) {
    const text = query.find(({ name }) => name === 'secondsAgo')?.value ?? '0'
    const seconds = /^\d{1,3}$/.test(text) ? Number(text) : -1
    if (seconds < 0 || seconds > maxSecondsAgo) {
      const message = `expected an integer from 0 to ${maxSecondsAgo}`
      throw invalidParameters([{ field: 'secondsAgo', message }])
    }
    const read = seconds === 0 ? readLastPosition : readPositionBefore
    const position = formatPosition(await read(services.database, db, seconds))
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
      wait: `Seconds to wait for the next event, 0 to ${maxWait}.`,
      ...filterParameters,
    },
    required: ['after'],
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

async function follow(request: ReadRequest, followed: readonly Resource[]): Promise<RouteResponse> {
  const { services, caller } = request
  const wish = await parseWish(request, followed)
  if (wish.after === undefined) {
    const message = `is required: a position, such as that of GET ${path}/position, or ${start}`
    throw invalidParameters([{ field: 'after', message }])
  }
  const end = performance.now() + wish.wait
  for (let waited = 0; ;) {
    const page = await readCurrent(request, wish)
    const left = end - performance.now()
    if (page.events.length > 0 || left <= 0 || services.feed.isClosed) {
      const position = formatPosition({ epoch: page.epoch, number: page.reached })
      const text = JSON.stringify({ events: showEvents(page, followed), position, hasMore: hasMore(page) })
      return { status: 200, text, waited }
    }
    wish.after = { epoch: page.epoch, number: page.reached }
    if (hasMore(page)) continue
    const since = performance.now()
    await services.feed.waitFor(caller.organizationId, page.reached, left)
    waited += performance.now() - since
  }
}

const streamRoute = (followed: () => readonly Resource[]): ReadRoute => ({
  ...shared,
  path: `${path}/stream`,
  operation: 'streamEvents',
  summary: 'Stream the changes of all records',
  description:
    'Server-sent events: the data of each is an event as in the list, and its id is its position. The stream continues behind `Last-Event-ID` or `after`, otherwise it begins now. A person who has logged in also gets events `presence`, which are not in the feed: their `records` say who else (`people`) has a record open and whether they edit it, and `isComplete` that nobody has another one open. Somebody who does not see all records gets `unreachable` with the `resource` and the `recordId` of one that has left their reach. With an access token, it also has events of the type `inbox`, without an id: `{"unread": 3}` at the beginning and whenever the person’s inbox changes. It ends when the credential does; connect again then.',
  query: {
    kind: 'parameters',
    parameters: {
      after: `The position to continue behind, or \`${start}\`; \`Last-Event-ID\`, which browsers send, goes before it.`,
      ...filterParameters,
    },
    examples: { after: example, resource: 'contact,company' },
    allowsOthers: false,
  },
  errors: [400, 410],
  responses: { 200: { kind: 'text', mediaType: 'text/event-stream' } },
  handle: (request) => openStream(request, followed()),
})
