import { useNavigate } from '@tanstack/react-router'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { Chip } from '../ui/chip.tsx'
import { SearchField } from '../ui/search-field.tsx'
import type { Import, RowStatus } from './import-queries.ts'
import styles from './imports.module.css'
import { chosenStatuses, rowStatuses, rowTints, sumOf, withStatuses } from './row-states.ts'

type Search = Record<string, unknown>

interface RowFiltersProps {
  one: Import
  search: Search
  /** Actions on the displayed rows. */
  children: ReactNode
}

/** The number of rows in each state; each number filters the list. */
export function RowFilters({ one, search, children }: RowFiltersProps) {
  const t = useTranslations('imports')
  const format = useFormatter()
  const navigate = useNavigate()
  const { counts } = one.stats
  const chosen = chosenStatuses(search)
  const showsRefused = search.show === 'refused'
  const mayReadRefused = useResource('refused-pushes')?.permissions.list === true
  const period = periodOf(search)
  const shown = rowStatuses.filter((status) => counts[status] > 0 || chosen.includes(status))
  const show = (next: Search) => void navigate({ to: '.', search: next, replace: true, resetScroll: false })
  // The numbers cover the whole import.
  const countOf = (statuses: readonly RowStatus[]) => !period && { count: format.number(sumOf(counts, statuses)) }
  // A click on the only chosen state shows all rows again.
  const toggle = (status: RowStatus) =>
    show(withStatuses(search, chosen.length === 1 && chosen[0] === status ? [] : [status]))
  return (
    <div className={styles.filters}>
      <fieldset className={styles.chips}>
        <legend className="visually-hidden">{t('filterByStatus')}</legend>
        <Chip
          isPressed={chosen.length === 0 && !showsRefused}
          onClick={() => show(withStatuses(search, []))}
          {...countOf(rowStatuses)}
        >
          {t('all')}
        </Chip>
        {shown.map((status) => (
          <Chip
            key={status}
            isPressed={chosen.includes(status)}
            tint={rowTints[status]}
            onClick={() => toggle(status)}
            {...countOf([status])}
          >
            {t(`statuses.${status}`)}
          </Chip>
        ))}
        {mayReadRefused && (one.refused.count > 0 || showsRefused) && (
          <Chip
            isPressed={showsRefused}
            tint="red"
            count={format.number(one.refused.count)}
            onClick={() => show(withRefused(search, !showsRefused))}
          >
            {t('refused')}
          </Chip>
        )}
        {period && <PeriodChip period={period} onClear={() => show(withoutPeriod(search))} />}
      </fieldset>
      <SearchField
        label={t('searchRows')}
        value={typeof search.query === 'string' ? search.query : ''}
        onSearch={(text) => show(withQuery(search, text))}
        isCompact
      />
      {children}
    </div>
  )
}

/** The email address in the search stays. */
const withRefused = ({ query }: Search, isShown: boolean): Search => ({
  ...(query !== undefined && { query }),
  ...(isShown && { show: 'refused' }),
})

function withQuery(search: Search, text: string): Search {
  const { query: _query, row: _row, ...others } = search
  return text === '' ? others : { ...others, query: text }
}

interface Period {
  from: Date
  to: Date
}

function periodOf(search: Search): Period | undefined {
  const [from, to] = [search['filter.createdAt.gte'], search['filter.createdAt.lt']]
  if (typeof from !== 'string' || typeof to !== 'string') return undefined
  // The end is exclusive: for midnight, the last day is the day before.
  const period = { from: new Date(from), to: new Date(new Date(to).getTime() - 1) }
  return Number.isNaN(period.from.getTime()) || Number.isNaN(period.to.getTime()) ? undefined : period
}

function withoutPeriod(search: Search): Search {
  const { 'filter.createdAt.gte': _gte, 'filter.createdAt.lt': _lt, row: _row, ...others } = search
  return others
}

function PeriodChip({ period: { from, to }, onClear }: { period: Period; onClear(): void }) {
  const t = useTranslations('imports')
  const format = useFormatter()
  const text = format.dateTimeRange(from, to, { dateStyle: 'medium' })
  return (
    <Chip onClick={onClear} aria-label={t('clearPeriod', { period: text })}>
      {text}
      <X size={13} strokeWidth={1.75} aria-hidden />
    </Chip>
  )
}
