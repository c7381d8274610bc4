import type { ReadRoute } from '../../http/route.ts'
import type { Connection } from '../../database/database.ts'
import { sqlState } from '../../database/failures.ts'
import type { Resource } from '../declare/define.ts'
import { invalidParameters } from '../../model/errors.ts'
import { type DayRange, dayRangeQuery, parseDayRange } from '../filter/day-range.ts'
import type { Schema } from '../../model/json.ts'

interface DailyStatistics {
  resource: Resource
  path: string
  summary: string
  description: string
  /** Schema of the `counts` of a day. */
  counts: Schema
  /** Other properties of the response. */
  others?: Record<string, Schema>
  read: (db: Connection, range: DayRange) => Promise<object>
}

/** Counts by local day, of which every day of the range is present. */
export function dailyStatisticsRoute({ resource, counts, others = {}, read, ...texts }: DailyStatistics): ReadRoute {
  const date = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }
  const day = closedObject({ date, counts })
  const days = { type: 'array', items: day, description: 'Every day of the range, in order.' }
  return {
    kind: 'read',
    method: 'GET',
    operation: `get${resource.component}Statistics`,
    ...texts,
    tag: resource.name,
    params: {},
    scope: `${resource.singular}:statistics:read`,
    query: dayRangeQuery,
    responses: {
      200: {
        kind: 'schema',
        component: `${resource.component}Statistics`,
        schema: closedObject({ from: date, to: date, timeZone: { type: 'string' }, days, ...others }),
      },
    },
    async handle({ services, caller, db, query }) {
      const range = parseDayRange(query)
      // The work grows with the number of records.
      const statistics = await services.queryLimiter.run(caller.organizationId, () =>
        read(db, range).catch((error: unknown) => Promise.reject(translateTimeZoneError(error))),
      )
      return { status: 200, text: JSON.stringify(statistics) }
    },
  }
}

/** An older database may not know the newest zones. */
export const isUnknownTimeZone = (error: unknown): boolean => sqlState(error) === invalidParameterValue

/** 400 for a zone that the database does not know. */
export const translateTimeZoneError = (error: unknown): unknown =>
  isUnknownTimeZone(error)
    ? invalidParameters([{ field: 'timeZone', message: 'the database does not know this time zone; send another one' }])
    : error

const invalidParameterValue = '22023'

/** An object with exactly these properties. */
export const closedObject = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
})
