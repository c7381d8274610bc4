import { Link } from '@tanstack/react-router'
import { type ReactNode } from 'react'
import { useFormatter, useNow, useTranslations } from 'use-intl'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { Button } from '../ui/button.tsx'
import { Tag, type Tint } from '../ui/tag.tsx'
import styles from './imports.module.css'

/** J opens the next row, K the previous one. */
export function useRowKeys(rows: readonly { id: string }[], openId: string | undefined, onOpen: (id: string) => void) {
  const t = useTranslations('imports')
  const step = (by: 1 | -1) => {
    const next = rows[rows.findIndex(({ id }) => id === openId) + by]
    if (next) onOpen(next.id)
  }
  useShortcuts([
    { keys: 'j', label: t('nextRow'), run: () => step(1) },
    { keys: 'k', label: t('previousRow'), run: () => step(-1) },
  ])
}

interface RowTableProps {
  label: string
  /** The headings of the last two columns. */
  headings: readonly [who: string, what: string]
  children: ReactNode
}

/** Rows or refused pushes: state, time, and two more columns. */
export function RowTable({ label, headings: [who, what], children }: RowTableProps) {
  const t = useTranslations('imports')
  return (
    <table className={styles.table} aria-label={label}>
      <thead>
        <tr>
          <th scope="col" className={styles.statusColumn}>
            {t('status')}
          </th>
          <th scope="col" className={styles.timeColumn}>
            {t('received')}
          </th>
          <th scope="col">{who}</th>
          <th scope="col" className={styles.wide}>
            {what}
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

interface RowLineProps {
  row: { id: string; createdAt: string }
  isOpen: boolean
  state: string
  status: string
  tint: Tint
  who: ReactNode
  what: ReactNode
}

export function RowLine({ row: { id, createdAt }, isOpen, state, status, tint, who, what }: RowLineProps) {
  const timeOf = useTimeOf()
  return (
    <tr className={styles.row} data-open={isOpen || undefined} data-status={state}>
      <td>
        <Link
          id={id}
          to="."
          search={(search: Record<string, unknown>) => ({ ...search, row: id })}
          className={styles.rowLink}
          aria-label={`${status}, ${timeOf(createdAt)}`}
          activeProps={{}}
          preload={false}
          resetScroll={false}
        >
          <Tag tint={tint} hasDot>
            {status}
          </Tag>
        </Link>
      </td>
      <td>
        <time dateTime={createdAt} className={styles.time}>
          {timeOf(createdAt)}
        </time>
      </td>
      <td>{who}</td>
      <td className={`${styles.wide} ${styles.soft}`}>{what}</td>
    </tr>
  )
}

interface OlderRowsProps {
  label: string
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): Promise<unknown> }
}

export const OlderRows = ({ label, query }: OlderRowsProps) =>
  query.hasNextPage && (
    <div className={styles.older}>
      <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {label}
      </Button>
    </div>
  )

/** The time if it is today, otherwise date and time; with seconds, because rows arrive quickly. */
export function useTimeOf(): (time: string) => string {
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  return (time) => {
    const date = new Date(time)
    const isToday = date.toDateString() === now.toDateString()
    return isToday
      ? format.dateTime(date, { timeStyle: 'medium' })
      : format.dateTime(date, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' })
  }
}
