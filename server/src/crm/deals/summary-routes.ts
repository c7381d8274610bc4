import type { Connection } from '../../platform/database/database.ts'
import { assertScope } from '../../platform/http/effects/denied-scope.ts'
import type {
  ReadRequest,
  ReadRoute,
  Route,
  RouteResponse,
  SearchRequest,
  SearchRoute,
} from '../../platform/http/route.ts'
import { id } from '../../platform/records/declare/fields.ts'
import type { Filters } from '../../platform/records/page/parse.ts'
import { inPages } from '../../platform/records/routes/array-pages.ts'
import { closedObject } from '../../platform/records/routes/daily-statistics.ts'
import { readCountFilters, readSearchFilters } from '../../platform/records/routes/saved-views.ts'
import { deals } from './resource.ts'
import { readForecast, readSummary } from './summary-store.ts'
import type { Schema } from '../../platform/model/json.ts'

const count = { type: 'integer', minimum: 0 }
const amount = { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', examples: ['1250000.50'] }
const currency = deals.fields.currency.schema
const idOf = { type: 'string', description: 'What is summed up, for pages.' }

/** Deleted deals are summed up for those who may restore them. */
const restoreScope = `${deals.singular}:restore:write`

interface Summary {
  name: 'summary' | 'forecast'
  component: string
  summary: string
  description: string
  item: Record<string, Schema>
  read: (db: Connection, filters: Filters) => Promise<string>
}

/** Sums of the deals that match the filters of a list, in its URL or as the tree of a search. */
function sumRoutes({ name, component, item, read, summary, description }: Summary): [ReadRoute, SearchRoute] {
  const itemSchema = closedObject({ id: idOf, ...item })
  const shared = {
    tag: deals.name,
    params: {},
    scope: `${deals.singular}:${name}:read`,
    responses: { 200: { kind: 'schema', component, schema: { type: 'array', items: itemSchema } } },
  } as const
  const path = `/v5/deals/${name}`
  const searchPath = `/v5/deals/search/${name}`
  // All of the deals are read, so only a few run at once.
  const respond = async (request: ReadRequest, filters: Filters): Promise<RouteResponse> => {
    const { services, caller, client, db } = request
    if (filters.deleted) await assertScope({ services, caller, client, route: path }, restoreScope)
    const text = await services.queryLimiter.run(caller.organizationId, () => read(db, filters))
    return { status: 200, text }
  }
  const inUrl: ReadRoute = {
    ...shared,
    kind: 'read',
    method: 'GET',
    path,
    operation: `get${component}`,
    summary,
    description: `Takes the filters of the list. ${description}`,
    query: { kind: 'count', resource: deals, pages: { kind: 'array', item: itemSchema } },
    handle: inPages(
      itemSchema,
      async (request: ReadRequest) => respond(request, await readCountFilters({ resource: deals, path }, request)),
      { readsOthers: true },
    ),
  }
  const ofSearch: SearchRoute = {
    ...shared,
    kind: 'search',
    method: 'POST',
    path: searchPath,
    operation: `search${component}`,
    summary: `${summary}, of those that a search finds`,
    description: `Takes the body of a count. ${description}`,
    query: { kind: 'array', item: itemSchema },
    search: { resource: deals, returns: 'count' },
    handle: inPages(itemSchema, async (request: SearchRequest) =>
      respond(request, await readSearchFilters({ resource: deals, path: searchPath }, request)),
    ),
  }
  return [inUrl, ofSearch]
}

export const summaryRoutes: readonly Route[] = [
  ...sumRoutes({
    name: 'summary',
    component: 'DealSummary',
    summary: 'Sum up deals by stage and currency',
    description:
      '`weightedSum` multiplies each amount by the probability of its stage. A deal without an amount counts, as zero. The response contains only stages with deals that match.',
    item: {
      pipelineId: id('pip').schema,
      stageId: id('stg').schema,
      currency,
      count,
      sum: amount,
      weightedSum: amount,
    },
    read: readSummary,
  }),
  ...sumRoutes({
    name: 'forecast',
    component: 'DealForecast',
    summary: 'Sum up deals by month and currency',
    description:
      '`open` are open deals in the month in which they are expected to close; `month` is null for those without a date. `won` are deals that were won in that month, in the time zone of the organization. Lost deals are left out.',
    item: {
      month: { type: ['string', 'null'], pattern: '^\\d{4}-\\d{2}$' },
      currency,
      open: closedObject({ count, sum: amount, weightedSum: amount }),
      won: closedObject({ count, sum: amount }),
    },
    read: readForecast,
  }),
]
