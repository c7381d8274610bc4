import type { Dependent, RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { raw } from '../platform/model/sql.ts'

const day = 24 * 60 * 60

/**
 * Seconds added to the days of events. The feed ends with the first event that is too old, and one that follows it may be
 * older by the length of a transaction: it must not be missing meanwhile.
 */
const grace = 60 * 60

/** Days that the feed reaches back: not beyond the histories, which are a part of it. */
export const feedDays = ({ historyDays, eventDays }: { historyDays: number; eventDays: number }): number =>
  historyDays > 0 ? Math.min(historyDays, eventDays) : eventDays

/** Changes that are older than this many days, of records with a history and of others. The records stay. */
export const expiredEvents = (historyDays: number, eventDays: number): RetentionPolicy[] => [
  ...(historyDays > 0 ? [{ ...events('history', historyDays), condition: raw('is_history') }] : []),
  { ...events('events', feedDays({ historyDays, eventDays })), condition: raw('not is_history') },
  ...(historyDays > 0 ? historiesOfFirstRelease.map((table) => formerHistory(table, historyDays)) : []),
]

const events = (name: string, days: number): RetentionPolicy => ({
  name,
  table: 'events',
  key: { record_id: 'uuid', created_at: 'timestamptz', id: 'uuid' },
  since: 'created_at',
  ttlSeconds: days * day + grace,
})

/** Release 0.1.0 stored changes there, and its processes still do during an upgrade. They expire like later ones. */
export const historiesOfFirstRelease = ['contact_changes', 'company_changes', 'deal_changes'] as const
type FormerHistory = (typeof historiesOfFirstRelease)[number]

const recordColumns: Readonly<Record<FormerHistory, string>> = {
  contact_changes: 'contact_id',
  company_changes: 'company_id',
  deal_changes: 'deal_id',
}

const formerHistory = (table: FormerHistory, days: number): RetentionPolicy => ({
  name: table.replace('_changes', ' history'),
  table,
  key: { [recordColumns[table]]: 'uuid', id: 'uuid' },
  since: 'created_at',
  ttlSeconds: days * day,
})

/** The changes that release 0.1.0 stored of the records of a table, which are purged with them. */
export const formerHistoryOf = (table: string): Dependent[] =>
  historiesOfFirstRelease
    .filter((history) => tablesOfHistories[history] === table)
    .map((history) => ({
      name: history.replace('_', '-'),
      table: history,
      column: recordColumns[history],
      action: 'delete',
    }))

const tablesOfHistories: Readonly<Record<FormerHistory, string>> = {
  contact_changes: 'contacts',
  company_changes: 'companies',
  deal_changes: 'deals',
}
