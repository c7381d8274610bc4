import type { Connection } from '../../platform/database/database.ts'
import type { ReadRoute } from '../../platform/http/route.ts'
import { id, type Schema } from '../../platform/model/fields.ts'
import type { Filters } from '../../platform/query/parse.ts'
import { closedObject } from '../../platform/routes/daily-statistics.ts'
import { readCountFilters } from '../../platform/routes/saved-views.ts'
import { deals } from './resource.ts'
import { readForecast, readSummary } from './summary-store.ts'

const count = { type: 'integer', minimum: 0 }
const amount = { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', examples: ['1250000.50'] }
const currency = deals.fields.currency.schema

interface Summary {
  name: 'summary' | 'forecast'
  component: string
  summary: string
  description: string
  item: Record<string, Schema>
  read: (db: Connection, filters: Filters) => Promise<string>
}

/** Sums of the deals that match the filters of a list. All of them are read, so only a few run at once. */
function sumRoute({ name, component, item, read, ...texts }: Summary): ReadRoute {
  const path = `/v5/deals/${name}`
  return {
    kind: 'read',
    method: 'GET',
    path,
    operation: `get${component}`,
    ...texts,
    tag: deals.name,
    params: {},
    scope: `${deals.singular}:${name}:read`,
    query: { kind: 'count', resource: deals },
    responses: { 200: { kind: 'schema', component, schema: { type: 'array', items: closedObject(item) } } },
    async handle(request) {
      const { services, caller, db } = request
      const filters = await readCountFilters({ resource: deals, path }, request)
      const text = await services.queryLimiter.run(caller.organizationId, () => read(db, filters))
      return { status: 200, text }
    },
  }
}

export const summaryRoutes: readonly ReadRoute[] = [
  sumRoute({
    name: 'summary',
    component: 'DealSummary',
    summary: 'Sum up deals by stage and currency',
    description:
      'Takes the filters of the list. `weightedSum` multiplies each amount by the probability of its stage. A deal without an amount counts, as zero. The response contains only stages with deals that match.',
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
  sumRoute({
    name: 'forecast',
    component: 'DealForecast',
    summary: 'Sum up deals by month and currency',
    description:
      'Takes the filters of the list. `open` are open deals in the month in which they are expected to close; `month` is null for those without a date. `won` are deals that were won in that month, in the time zone of the organization. Lost deals are left out.',
    item: {
      month: { type: ['string', 'null'], pattern: '^\\d{4}-\\d{2}$' },
      currency,
      open: closedObject({ count, sum: amount, weightedSum: amount }),
      won: closedObject({ count, sum: amount }),
    },
    read: readForecast,
  }),
]
