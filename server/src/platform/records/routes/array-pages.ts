import type { BaseRequest, RouteResponse } from '../../http/route.ts'
import { arrayParameters, pageOfArray, parseArrayPage } from '../request/array-page.ts'
import { linkTo } from './links.ts'
import type { JsonObject, Schema } from '../../model/json.ts'

/**
 * Returns the array of a route page by page, like every list. Its items have an `id`. `handle` gets the
 * other parameters if it reads any; otherwise they are unknown.
 */
export const inPages =
  <Request extends BaseRequest>(
    item: Schema,
    handle: (request: Request) => Promise<RouteResponse>,
    { readsOthers = false } = {},
  ) =>
  async (request: Request): Promise<RouteResponse> => {
    const isOwn = ({ name }: { name: string }) => (arrayParameters as readonly string[]).includes(name)
    const { query } = request
    const page = parseArrayPage(item, readsOthers ? query.filter(isOwn) : query)
    const response = await handle({ ...request, query: readsOthers ? query.filter((one) => !isOwn(one)) : [] })
    const all = JSON.parse(response.text ?? '[]') as JsonObject[]
    const isWhole = all.length <= page.limit && page.orderBy === undefined && !page.isDescending && !page.cursor
    // The text as the database wrote it, which is nearly always the whole array.
    if (isWhole) return response
    const { items, next, previous } = pageOfArray(all, page)
    const links = [
      ...(next === undefined ? [] : [`${linkTo(request, 'startingAfter', next)}; rel="next"`]),
      ...(previous === undefined ? [] : [`${linkTo(request, 'endingBefore', previous)}; rel="prev"`]),
    ]
    return {
      ...response,
      text: JSON.stringify(items),
      headers: { ...response.headers, ...(links.length > 0 && { link: links.join(', ') }) },
    }
  }
