import { assertScope } from '../../http/effects/denied-scope.ts'
import type { ReadRequest, SearchRequest } from '../../http/route.ts'
import type { Resource } from '../declare/define.ts'
import { type ApiError, type BodyError, invalidBody, invalidParameters } from '../../model/errors.ts'
import { type Filter, relationsIn } from '../filter/filter.ts'
import { type Filters, QueryReader, parseFilters } from '../page/parse.ts'
import type { QueryParameter } from '../request/query-string.ts'
import { maxRelations } from '../page/tree.ts'
import { type AppliedView, orderOf, readView, withinView } from '../page/view.ts'
import { readRelativeSpans } from '../page/read.ts'
import { type Readable, withDefinitions } from '../properties/resources.ts'
import { parseSearchCount } from '../page/search.ts'
import { isUnknownTimeZone } from './daily-statistics.ts'
import type { JsonValue } from '../../model/json.ts'

/** The list that a request is about. */
interface Listed {
  resource: Resource
  path: string
}

/** A count has no order. */
type Returns = 'page' | 'count'

type Invalid = (errors: BodyError[]) => ApiError

/** The `view` of a URL, and the other parameters with the order of the view. Throws 400. */
export async function viewOfQuery(
  listed: Listed,
  request: ReadRequest,
  returns: Returns = 'page',
): Promise<{ query: readonly QueryParameter[]; view: AppliedView | undefined }> {
  const { query } = request
  const [given, ...repeated] = listed.resource.hasViews ? query.filter(({ name }) => name === 'view') : []
  if (!given) return { query, view: undefined }
  if (repeated.length > 0) throw invalidParameters([{ field: 'view', message: 'is given twice; send it once' }])
  const view = await findView(listed, request, given.value, invalidParameters)
  const others = query.filter(({ name }) => name !== 'view')
  const order = returns === 'page' ? orderOf(view, (name) => others.some((one) => one.name === name)) : {}
  return { query: [...others, ...Object.entries(order).map(([name, value]) => ({ name, value }))], view }
}

/** The filters of a count or a sum, including those of its view. Throws 400. */
export async function readCountFilters(listed: Listed, request: ReadRequest): Promise<Filters> {
  const { query, view } = await viewOfQuery(listed, request, 'count')
  const { resource } = await definedIn(listed, request, textOfQuery(query))
  return resolveFilters(listed, request, parseFilters(resource, query), view)
}

/** The same for a search, whose filter is its body. Throws 422. */
export async function readSearchFilters(listed: Listed, request: SearchRequest): Promise<Filters> {
  const { body, view } = await viewOfBody(listed, request, 'count')
  const readable = await definedIn(listed, request, JSON.stringify(body))
  return resolveFilters(listed, request, parseSearchCount({ ...readable, body, query: request.query }), view)
}

/** The resource and the relations of a request, with the definitions of the properties that its text mentions. */
export const definedIn = ({ resource }: Listed, { db, services }: ReadRequest, text: string): Promise<Readable> =>
  withDefinitions(db, { resource, relations: services.relations }, text)

export const textOfQuery = (query: readonly QueryParameter[]): string =>
  query.map(({ name, value }) => `${name}=${value}`).join('&')

/** The `view` of a search, and the rest of its body with the order of the view. Throws 422. */
export async function viewOfBody(
  listed: Listed,
  request: SearchRequest,
  returns: Returns,
): Promise<{ body: JsonValue; view: AppliedView | undefined }> {
  const { body } = request
  const isGiven = typeof body === 'object' && body !== null && !Array.isArray(body) && Object.hasOwn(body, 'view')
  if (!isGiven || !listed.resource.hasViews) return { body, view: undefined }
  const { view: id, ...others } = body
  if (typeof id !== 'string') throw invalidBody([{ field: 'view', message: 'expected the id of a view (vie_…)' }])
  const view = await findView(listed, request, id, invalidBody)
  const order = returns === 'page' ? orderOf(view, (name) => Object.hasOwn(others, name)) : {}
  return { body: { ...others, ...order }, view }
}

async function findView(listed: Listed, request: ReadRequest, id: string, invalid: Invalid): Promise<AppliedView> {
  const { services, db } = request
  await assertScope(scopedRequest(listed, request), services.views.scope)
  const saved = await services.views.find(db, listed.resource, id)
  if (!saved) throw invalid([{ field: 'view', message: 'no view with this id exists' }])
  const reader = new QueryReader()
  const { resource, relations } = await definedIn(listed, request, JSON.stringify(saved))
  const view = readView(reader, resource, relations, saved)
  // A field that it uses may no longer exist.
  const errors = reader.errors.map(({ field, message }) => ({
    field: 'view',
    message: `the view is no longer valid; change it. ${field}: ${message}`,
  }))
  if (errors.length > 0) throw invalid(errors)
  return view
}

/**
 * The filters of a request together with those of its view. They reveal related records, so each relation needs the
 * scope of its list. Relative dates become instants, so that those of a view count from this request.
 */
export async function resolveFilters<Request extends Filters>(
  listed: Listed,
  request: ReadRequest,
  wanted: Request,
  view: AppliedView | undefined,
): Promise<Request> {
  const invalid: Invalid = 'body' in request ? invalidBody : invalidParameters
  const together = view ? withinView(wanted, view) : wanted
  const related = relationsIn(together.filter)
  if (related.length > maxRelations) throw invalid([tooManyRelations])
  const scopes = new Set(related.map(({ resource }) => `${resource.singular}:list:read`))
  for (const scope of scopes) await assertScope(scopedRequest(listed, request), scope)
  const { services, db } = request
  const filter: Filter = await readRelativeSpans(db, together.filter, () => services.timeZone(db)).catch(
    (error: unknown) => {
      throw isUnknownTimeZone(error) ? invalid([unknownTimeZone(view ? 'view' : 'filter')]) : error
    },
  )
  return { ...together, filter }
}

const scopedRequest = ({ path }: Listed, { services, caller, client }: ReadRequest) => ({
  services,
  caller,
  client,
  route: path,
})

const tooManyRelations: BodyError = {
  field: 'view',
  message: `together with its filter, expected at most ${maxRelations} uses of some and none`,
}

const unknownTimeZone = (field: string): BodyError => ({
  field,
  message: 'the database does not know the time zone of the organization; choose another zone or send dates',
})
