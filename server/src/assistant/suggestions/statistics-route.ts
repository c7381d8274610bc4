import type { ReadRoute } from '../../platform/http/route.ts'
import { dayRangeQuery, parseDayRange } from '../../platform/records/filter/day-range.ts'
import { closedObject, translateTimeZoneError } from '../../platform/records/routes/daily-statistics.ts'
import { suggestions } from './resource.ts'
import { readSuggestionStatistics } from './statistics-store.ts'

const count = { type: 'integer', minimum: 0 }
const day = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }

const counts = closedObject({
  type: suggestions.fields.type.schema,
  engine: suggestions.fields.engine.schema,
  pending: count,
  accepted: { ...count, description: 'Including edited ones.' },
  edited: count,
  rejected: count,
  expired: count,
  superseded: count,
  autoApplied: count,
  precision: {
    type: ['number', 'null'],
    minimum: 0,
    maximum: 1,
    description: 'Accepted ones divided by accepted and rejected ones; null if people have decided none.',
  },
})

export const statisticsRoute: ReadRoute = {
  kind: 'read',
  method: 'GET',
  path: '/v5/suggestions/statistics',
  operation: 'getSuggestionStatistics',
  summary: 'Count the decisions on suggestions by week',
  description:
    'By action and engine, for the suggestions that the caller sees and that were made on these days: `weeks`, each named by its Monday, and `totals` of all days.',
  tag: suggestions.name,
  params: {},
  scope: `${suggestions.singular}:statistics:read`,
  query: dayRangeQuery,
  responses: {
    200: {
      kind: 'schema',
      component: 'SuggestionStatistics',
      schema: closedObject({
        from: day,
        to: day,
        timeZone: { type: 'string' },
        weeks: { type: 'array', items: closedObject({ week: day, counts: { type: 'array', items: counts } }) },
        totals: { type: 'array', items: counts },
      }),
    },
  },
  async handle({ services, caller, db, query }) {
    const range = parseDayRange(query)
    // The work grows with the number of suggestions.
    const statistics = await services.queryLimiter.run(caller.organizationId, () =>
      readSuggestionStatistics(db, range).catch((error: unknown) => Promise.reject(translateTimeZoneError(error))),
    )
    return { status: 200, text: JSON.stringify(statistics) }
  },
}
