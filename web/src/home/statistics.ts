import { queryOptions } from '@tanstack/react-query'
import { api, dataOf } from '../api/client.ts'
import type { components } from '../api/openapi.d.ts'
import { ofResources } from '../live/refetch.ts'
import { ofImports } from '../imports/import-queries.ts'
import { timeZone } from '../preferences/locale.ts'

/** Number of days in the charts, counted back from today. */
export const periods = [7, 30, 90] as const
export type Period = (typeof periods)[number]

export const periodOf = (days: unknown): Period => periods.find((period) => String(period) === days) ?? 30

/** A day in the person's time zone: `2026-11-03`. */
export type Day = string

const dayOf = (date: Date): Day =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-')

/** The start of the day that is some days later; a day can have 23 or 25 hours. */
export function midnight(day: Day, later = 0): Date {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date + later)
}

export function daysOf(period: Period): readonly Day[] {
  const today = dayOf(new Date())
  return Array.from({ length: period }, (_, index) => dayOf(midnight(today, index + 1 - period)))
}

/** The filters of an API list for records that were created on these days. */
export const createdOn = (first: Day, last: Day = first): Record<string, string> => ({
  'filter.createdAt.gte': midnight(first).toISOString(),
  'filter.createdAt.lt': midnight(last, 1).toISOString(),
})

export type ContactStatistics = components['schemas']['ContactStatistics']
export type ImportStatistics = components['schemas']['ImportStatistics']

export const contactStatisticsQuery = (period: Period) => {
  const query = rangeOf(period)
  return queryOptions({
    queryKey: ['contacts', 'statistics', query],
    queryFn: ({ signal }) => dataOf(api.GET('/v5/contacts/statistics', { params: { query }, signal })),
    meta: { follows: ofResources('contact') },
  })
}

export const importStatisticsQuery = (period: Period) => {
  const query = rangeOf(period)
  return queryOptions({
    queryKey: ['imports', 'statistics', query],
    queryFn: ({ signal }) => dataOf(api.GET('/v5/imports/statistics', { params: { query }, signal })),
    meta: { follows: ofImports },
  })
}

function rangeOf(period: Period) {
  const days = daysOf(period)
  return { from: days[0] ?? '', to: days.at(-1) ?? '', timeZone }
}
