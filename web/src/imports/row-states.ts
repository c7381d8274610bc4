import type { Tint } from '../ui/tag.tsx'
import type { RowStatus } from './import-queries.ts'

/** The states of a row in the order of its life, and their colours. */
export const rowTints: Readonly<Record<RowStatus, Tint>> = {
  PENDING: 'blue',
  PROCESSING: 'blue',
  RETRYING: 'orange',
  PROCESSED: 'green',
  PARTIAL: 'orange',
  DUPLICATE: 'gray',
  INVALID: 'red',
  CONFLICT: 'red',
  DEAD: 'red',
  CANCELLED: 'gray',
}

export const rowStatuses = Object.keys(rowTints) as readonly RowStatus[]

export const waiting: readonly RowStatus[] = ['PENDING', 'PROCESSING', 'RETRYING']
export const done: readonly RowStatus[] = ['PROCESSED', 'DUPLICATE']
export const failed: readonly RowStatus[] = ['PARTIAL', 'INVALID', 'CONFLICT', 'DEAD']

export const retryable: readonly RowStatus[] = [...failed, 'CANCELLED', 'RETRYING']
export const cancellable: readonly RowStatus[] = ['PENDING', 'RETRYING']
/** A payload can be corrected while no worker can claim the row; after success, only if there are warnings. */
export const isCorrectable = ({
  status,
  warningCodes,
}: {
  status: RowStatus
  warningCodes: readonly string[]
}): boolean => status === 'CANCELLED' || failed.includes(status) || (done.includes(status) && warningCodes.length > 0)

/** The number of rows in these states. */
export const sumOf = (counts: Readonly<Record<RowStatus, number>>, statuses: readonly RowStatus[]): number =>
  statuses.reduce((sum, status) => sum + counts[status], 0)

type Search = Readonly<Record<string, unknown>>

/** The filters in the page's URL, named as in the API. */
export const filtersOf = (search: Search): Record<string, string> =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      (name === 'query' || name.startsWith('filter.')) && typeof value === 'string' ? [[name, value]] : [],
    ),
  )

/** The states in the URL; empty for all. */
export function chosenStatuses(search: Search): readonly RowStatus[] {
  const text = search['filter.status.equals'] ?? search['filter.status.in']
  const names = typeof text === 'string' ? text.split(',') : []
  return rowStatuses.filter((status) => names.includes(status))
}

/** The search parameters for rows in these states; all other parameters stay. */
export function withStatuses(search: Search, statuses: readonly RowStatus[]): Record<string, unknown> {
  const { 'filter.status.equals': _equals, 'filter.status.in': _in, row: _row, show: _show, ...others } = search
  if (statuses.length === 0) return others
  return statuses.length === 1
    ? { ...others, 'filter.status.equals': statuses[0] }
    : { ...others, 'filter.status.in': statuses.join(',') }
}
