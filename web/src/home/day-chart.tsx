import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { type ChartColumn, type ChartLink, type ChartSeries, StackedBars } from '../ui/chart.tsx'
import { ChartPanel } from '../ui/chart-panel.tsx'
import { Panel, Table } from '../ui/page.tsx'
import styles from './home.module.css'
import { type Day, daysOf, midnight, type Period } from './statistics.ts'

/** Makes a column for each day of the period; days that the service omits have no values. */
export function useColumns(period: Period, valuesOf: (day: Day) => Readonly<Record<string, number>>): ChartColumn[] {
  const format = useFormatter()
  return daysOf(period).map((day) => {
    const date = midnight(day)
    return {
      key: day,
      title: format.dateTime(date, { dateStyle: 'full' }),
      tick: format.dateTime(date, { day: 'numeric', month: 'short' }),
      values: valuesOf(day),
    }
  })
}

interface DayChartProps {
  title: string
  columns: readonly ChartColumn[]
  series: readonly ChartSeries[]
  /** The list behind a number; without a series, behind the whole day. */
  linkOf(day: Day, series: string | undefined): ChartLink
  /** Shown if nothing happened. */
  empty: ReactNode
}

/** Numbers by day and series, as bars or as a table; each number links to its list. */
export function DayChart({ title, columns, series, linkOf, empty }: DayChartProps) {
  const t = useTranslations('home')
  const format = useFormatter()
  const total = columns.reduce((sum, column) => sum + totalOf(column), 0)
  if (total === 0) return <Panel title={title}>{empty}</Panel>
  const cell = (column: ChartColumn, value: number, key?: string) =>
    value === 0 ? (
      format.number(0)
    ) : (
      <Link {...linkOf(column.key, key)} className={styles.number}>
        {format.number(value)}
      </Link>
    )
  const table = (
    <Table
      label={t('tableOf', { title })}
      rows={columns}
      keyOf={({ key }) => key}
      columns={[
        { title: t('day'), show: (column) => column.title },
        ...series.map(({ key, label }) => ({
          title: label,
          isNumber: true,
          show: (column: ChartColumn) => cell(column, column.values[key] ?? 0, key),
        })),
        { title: t('total'), isNumber: true, show: (column: ChartColumn) => cell(column, totalOf(column)) },
      ]}
    />
  )
  return (
    <ChartPanel title={title} description={<span className={styles.total}>{format.number(total)}</span>} table={table}>
      <StackedBars
        label={title}
        columns={columns}
        series={series}
        linkOf={(column, { key }) => linkOf(column.key, key)}
      />
    </ChartPanel>
  )
}

const totalOf = ({ values }: ChartColumn): number => Object.values(values).reduce((sum, value) => sum + value, 0)
