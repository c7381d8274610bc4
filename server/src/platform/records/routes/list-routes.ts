import { OutdatedRead, toApiError } from '../../database/failures.ts'
import { assertScope } from '../../http/effects/denied-scope.ts'
import {
  type BaseRequest,
  cursorScope,
  type ReadRequest,
  type ReadRoute,
  type RouteResponse,
  type SearchRoute,
} from '../../http/route.ts'
import { displayNoun, type Resource } from '../declare/define.ts'
import { writeCursor } from '../page/cursor.ts'
import { cursorOrder } from '../page/order.ts'
import { parsePosition, planCount, planPage } from '../page/page.ts'
import { type Filters, type ListRequest, parseList } from '../page/parse.ts'
import { parseSearchRequest } from '../page/search.ts'
import { assertParentElsewhere, readCount, readPage, scopeOf } from '../page/read.ts'
import { linkTo } from './links.ts'
import {
  definedIn,
  readCountFilters,
  readSearchFilters,
  resolveFilters,
  textOfQuery,
  viewOfBody,
  viewOfQuery,
} from './saved-views.ts'

/** The records that the routes of a list are about. */
interface ListGroup {
  resource: Resource
  path: string
  tag: string
  collectionParams: ReadRoute['params']
  /** `plural`: names the operation after all records. */
  operation(action: string, plural?: boolean): string
  scope(action: string, permission: 'read' | 'write'): string
  parentId(params: Record<string, string>): string | undefined
}

export function listRoute(group: ListGroup): ReadRoute {
  const { resource } = group
  return {
    kind: 'read',
    method: 'GET',
    path: group.path,
    operation: group.operation('list', true),
    summary: `List ${displayNoun(resource.name)}`,
    tag: group.tag,
    params: group.collectionParams,
    scope: group.scope('list', 'read'),
    query: { kind: 'list', resource },
    responses: { 200: { kind: 'list', resource } },
    handle: repeatedIfOutdated(async (request) => {
      const { query, view } = await viewOfQuery(group, request)
      const readable = await definedIn(group, request, textOfQuery(query))
      const wanted = parseList(readable.resource, query, cursorScopeOf(group, request))
      if (wanted.deleted) await assertMayRestore(group, request)
      return respondWithPage(group, request, await resolveFilters(group, request, wanted, view))
    }),
  }
}

/** A list whose filter is a tree, in the body. */
export function searchRoute(group: ListGroup): SearchRoute {
  const { resource } = group
  return {
    ...searchOf(group, 'page'),
    path: `${group.path}/search`,
    operation: group.operation('search', true),
    summary: `Search ${displayNoun(resource.name)} with a filter tree`,
    description:
      'Returns a page of the list, like a GET of it. It changes nothing: an `Idempotency-Key` has no effect. A URL in `Link` has the cursor of another page: send the same body to it.',
    scope: group.scope('list', 'read'),
    query: {
      kind: 'parameters',
      parameters: {
        startingAfter: 'The same as in the body, for URLs in `Link`.',
        endingBefore: 'The same as in the body, for URLs in `Link`.',
      },
      allowsOthers: false,
    },
    responses: { 200: { kind: 'list', resource } },
    handle: repeatedIfOutdated(async (request) => {
      const scope = cursorScopeOf(group, request)
      const { body, view } = await viewOfBody(group, request, 'page')
      const sent = { ...(await definedIn(group, request, JSON.stringify(body))), body, query: request.query }
      const wanted = parseSearchRequest(sent, scope)
      if (wanted.deleted) await assertMayRestore(group, request)
      return respondWithPage(group, request, await resolveFilters(group, request, wanted, view))
    }),
  }
}

export function countRoute(group: ListGroup): ReadRoute {
  const { resource } = group
  return {
    kind: 'read',
    method: 'GET',
    path: `${group.path}/count`,
    operation: group.operation('count', true),
    summary: `Count ${displayNoun(resource.name)}`,
    tag: group.tag,
    params: group.collectionParams,
    scope: group.scope('count', 'read'),
    query: { kind: 'count', resource },
    responses: { 200: countResponse },
    handle: repeatedIfOutdated(async (request) => {
      const wanted = await readCountFilters(group, request)
      if (wanted.deleted) await assertMayRestore(group, request)
      return respondWithCount(group, request, wanted)
    }),
  }
}

export function searchCountRoute(group: ListGroup): SearchRoute {
  const { resource } = group
  return {
    ...searchOf(group, 'count'),
    path: `${group.path}/search/count`,
    operation: group.operation('countFound', true),
    summary: `Count the ${displayNoun(resource.name)} that a search finds`,
    scope: group.scope('count', 'read'),
    query: { kind: 'none' },
    responses: { 200: countResponse },
    handle: repeatedIfOutdated(async (request) => {
      const wanted = await readSearchFilters(group, request)
      if (wanted.deleted) await assertMayRestore(group, request)
      return respondWithCount(group, request, wanted)
    }),
  }
}

const maxAttempts = 3

/** Reads the definitions and the records again if an index was dropped in between. */
const repeatedIfOutdated =
  <Request>(handle: (request: Request) => Promise<RouteResponse>) =>
  async (request: Request): Promise<RouteResponse> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await handle(request)
      } catch (error) {
        if (!(error instanceof OutdatedRead) || attempt === maxAttempts) throw toApiError(error)
      }
    }
  }

const searchOf = (
  { resource, tag, collectionParams }: ListGroup,
  returns: SearchRoute['search']['returns'],
): Pick<SearchRoute, 'kind' | 'method' | 'tag' | 'params' | 'search'> => ({
  kind: 'search',
  method: 'POST',
  tag,
  params: collectionParams,
  search: { resource, returns },
})

const countResponse = {
  kind: 'schema',
  component: 'Count',
  schema: {
    type: 'object',
    required: ['count'],
    properties: { count: { type: 'integer', minimum: 0 } },
    additionalProperties: false,
  },
} as const

/** Of a list with these records, in which cursors continue. */
type PagedGroup = Pick<ListGroup, 'resource' | 'parentId'>
type PagedRequest = BaseRequest & Pick<ReadRequest, 'caller' | 'db'>

export const cursorScopeOf = (group: PagedGroup, { services, caller, params }: PagedRequest) =>
  cursorScope(services, caller, group.resource, group.parentId(params))

export async function respondWithPage(
  group: PagedGroup,
  request: PagedRequest,
  wanted: ListRequest,
): Promise<RouteResponse> {
  const { services, caller, db, params } = request
  const { resource } = group
  await assertParentElsewhere(db, resource, group.parentId(params))
  const plan = planPage(resource, wanted, scopeOf(db, group.parentId(params)))
  const read = () => readPage(db, resource, plan, wanted.cursor)
  const page = plan.isExpensive ? await services.queryLimiter.run(caller.organizationId, read) : await read()
  const scope = cursorScopeOf(group, request)
  const link = linkHeader(request, wanted, page, (position) =>
    writeCursor(scope(cursorOrder(wanted.order), wanted.deleted), parsePosition(position)),
  )
  return { status: 200, text: page.text, ...(link && { headers: { link } }) }
}

async function respondWithCount(group: ListGroup, request: ReadRequest, wanted: Filters): Promise<RouteResponse> {
  const { services, caller, db, params } = request
  const { resource } = group
  await assertParentElsewhere(db, resource, group.parentId(params))
  const plan = planCount(resource, wanted, scopeOf(db, group.parentId(params)))
  const read = () => readCount(db, resource, plan)
  const count = plan.isExpensive ? await services.queryLimiter.run(caller.organizationId, read) : await read()
  return { status: 200, text: JSON.stringify({ count }) }
}

/** Deleted records are shown to those who may restore them. */
const assertMayRestore = (group: ListGroup, { services, caller, client }: ReadRequest): Promise<void> =>
  assertScope({ services, caller, client, route: group.path }, group.scope('restore', 'write'))

/** `Link: rel="next"/"prev"` (RFC 8288), with cursors that survive the deletion of their records. */
function linkHeader(
  request: BaseRequest,
  { cursor }: ListRequest,
  page: { more: boolean; first: string | null; last: string | null },
  cursorAt: (position: string) => string,
): string | undefined {
  const isBackwards = cursor?.direction === 'before'
  const target = (parameter: string, position: string) => linkTo(request, parameter, cursorAt(position))
  const parts: string[] = []
  if (page.last !== null && (isBackwards || page.more)) parts.push(`${target('startingAfter', page.last)}; rel="next"`)
  if (page.first !== null && (isBackwards ? page.more : cursor))
    parts.push(`${target('endingBefore', page.first)}; rel="prev"`)
  return parts.length > 0 ? parts.join(', ') : undefined
}
