import { useQuery } from '@tanstack/react-query'
import { Webhook } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { importsQuery, type RowStatus } from '../imports/import-queries.ts'
import { done, failed, waiting } from '../imports/row-states.ts'
import type { ChartLink, ChartSeries } from '../ui/chart.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { DayChart, useColumns } from './day-chart.tsx'
import { ChartPlaceholder } from './chart-place.tsx'
import { createdOn, type Day, type ImportStatistics, importStatisticsQuery, type Period } from './statistics.ts'

const groups = [
  { key: 'done', statuses: done, color: 2 },
  { key: 'waiting', statuses: waiting, color: 1 },
  { key: 'cancelled', statuses: ['CANCELLED'], color: 4 },
  { key: 'failed', statuses: failed, color: 5 },
] as const satisfies readonly { key: string; statuses: readonly RowStatus[]; color: ChartSeries['color'] }[]

/** The rows of all imports by the day they were pushed, and their outcome. */
export function ImportChart({ period }: { period: Period }) {
  const t = useTranslations('home')
  const { data, error, refetch } = useQuery(importStatisticsQuery(period))
  const { data: imports } = useQuery({ ...importsQuery, refetchInterval: false })
  const valuesOf = new Map(data?.days.map(({ date, counts }) => [date, byGroup(counts)]))
  const columns = useColumns(period, (day) => valuesOf.get(day) ?? {})
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return <ChartPlaceholder />
  const series = groups
    .filter(({ key }) => key === 'done' || key === 'failed' || columns.some(({ values }) => values[key]))
    .map(({ key, color }): ChartSeries => ({ key, label: t(`groups.${key}`), color }))
  // With a single import, its rows; otherwise the imports that have such rows.
  const [only, ...others] = imports ?? []
  const to = only && others.length === 0 ? `/imports/${only.id}` : '/imports'
  const linkOf = (day: Day, key: string | undefined): ChartLink => {
    const statuses = groups.find((group) => group.key === key)?.statuses
    return { to, search: { ...createdOn(day), ...(statuses && { 'filter.status.in': statuses.join(',') }) } }
  }
  return (
    <DayChart
      title={t('importVolume')}
      columns={columns}
      series={series}
      linkOf={linkOf}
      empty={
        <EmptyState
          icon={Webhook}
          title={t(imports?.length ? 'noRows' : 'noImports')}
          text={t(imports?.length ? 'longerPeriod' : 'noImportsText')}
        />
      }
    />
  )
}

function byGroup(counts: ImportStatistics['days'][number]['counts']): Record<string, number> {
  return Object.fromEntries(
    groups.flatMap(({ key, statuses }) => {
      const sum = statuses.reduce((total, status) => total + (counts[status] ?? 0), 0)
      return sum > 0 ? [[key, sum]] : []
    }),
  )
}
