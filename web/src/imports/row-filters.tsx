import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import type { Import, RowStatus } from './import-queries.ts'
import styles from './imports.module.css'
import { chosenStatuses, rowStatuses, rowTints, sumOf, withStatuses } from './row-states.ts'
import dots from './row-dots.module.css'

type Search = Record<string, unknown>

interface RowFiltersProps {
  one: Import
  search: Search
  /** Actions on the rows that are shown. */
  children: ReactNode
}

/** The states of the rows with their numbers; each filters the list. */
export function RowFilters({ one, search, children }: RowFiltersProps) {
  const t = useTranslations('imports')
  const { counts } = one.stats
  const chosen = chosenStatuses(search)
  const period = periodOf(search)
  const shown = rowStatuses.filter((status) => counts[status] > 0 || chosen.includes(status))
  const toChip = (status: RowStatus) => ({
    key: status,
    label: t(`statuses.${status}`),
    count: counts[status],
    isChosen: chosen.includes(status),
    // A click on the only chosen state shows all rows again.
    statuses: chosen.length === 1 && chosen[0] === status ? [] : [status],
    dot: dots[rowTints[status]],
  })
  const all = {
    key: 'all',
    label: t('all'),
    count: sumOf(counts, rowStatuses),
    isChosen: chosen.length === 0,
    statuses: [],
    dot: undefined,
  }
  return (
    <div className={styles.filters}>
      <nav className={styles.chips} aria-label={t('filterByStatus')}>
        {[all, ...shown.map(toChip)].map(({ key, label, count, isChosen, statuses, dot }) => (
          <Link
            key={key}
            to="."
            search={withStatuses(search, statuses)}
            className={styles.chip}
            aria-current={isChosen ? 'true' : undefined}
            activeProps={{}}
            resetScroll={false}
            replace
          >
            {dot !== undefined && <span className={`${styles.dot} ${dot}`} aria-hidden />}
            {label}
            {/* The numbers are of the whole import. */}
            {!period && <Count value={count} />}
          </Link>
        ))}
        {period && <PeriodChip search={search} period={period} />}
      </nav>
      {children}
    </div>
  )
}

function Count({ value }: { value: number }) {
  const format = useFormatter()
  return <span className={styles.chipCount}>{format.number(value)}</span>
}

interface Period {
  from: Date
  to: Date
}

function periodOf(search: Search): Period | undefined {
  const [from, to] = [search['filter.createdAt.gte'], search['filter.createdAt.lt']]
  if (typeof from !== 'string' || typeof to !== 'string') return undefined
  // The end is exclusive: the day before a midnight is the last one.
  const period = { from: new Date(from), to: new Date(new Date(to).getTime() - 1) }
  return Number.isNaN(period.from.getTime()) || Number.isNaN(period.to.getTime()) ? undefined : period
}

function PeriodChip({ search, period: { from, to } }: { search: Search; period: Period }) {
  const t = useTranslations('imports')
  const format = useFormatter()
  const { 'filter.createdAt.gte': _gte, 'filter.createdAt.lt': _lt, row: _row, ...others } = search
  const text = format.dateTimeRange(from, to, { dateStyle: 'medium' })
  return (
    <Link to="." search={others} className={styles.chip} aria-label={t('clearPeriod', { period: text })} replace>
      {text}
      <X size={13} strokeWidth={1.75} aria-hidden />
    </Link>
  )
}
