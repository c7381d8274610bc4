import { randomUUID } from 'node:crypto'
import { resources } from '../src/app.ts'
import { isInFeed } from '../src/platform/records/declare/define.ts'
import { ago } from './maintenance-fixture.ts'

type Row = Record<string, unknown>

const followed = resources.filter(isInFeed)

/** The row of a change of a record, this many days ago. */
export const eventRow = (of: { organization_id: unknown; record_id: unknown }, isHistory = true, days = 0) => ({
  ...of,
  id: randomUUID(),
  resource: 'contact',
  is_history: isHistory,
  kind: 'updated',
  source: 'person',
  changes: [],
  created_at: ago(days),
})

/** A change of each of these records, which keeps no values when that is purged. */
export const eventsOf = (organization_id: string, records: readonly { row: Row }[]) =>
  records.map(({ row }) => ({ row: eventRow({ organization_id, record_id: row.id }), stays: true }))

type Tables = ReadonlyMap<string, Map<string, Row>>

/** Takes the events out that were added, and returns those of purges; then earlier ones of the same records leave the history. */
export function takeAddedEvents(before: Tables, after: Tables): string[] {
  const [old, events] = [before.get('events'), after.get('events')]
  const added = [...(events ?? [])].filter(([key]) => !old?.has(key))
  for (const [key] of added) events?.delete(key)
  const purges = added.map(([, row]) => row).filter(({ kind }) => kind === 'purged')
  const purged = new Set(purges.map(({ record_id }) => record_id))
  for (const row of old?.values() ?? []) if (purged.has(row.record_id)) row.is_history = false
  return purges.map((row) => [row.kind, row.resource, row.record_id, JSON.stringify(row.values)].join(' ')).sort()
}

/** The events that the purge of these rows adds: one for each record of the feed. */
export const eventsOfPurge = (rows: ReadonlyMap<string, readonly { row: Row; stays: boolean }[]>): string[] =>
  followed.flatMap(({ table, singular }) =>
    (rows.get(table) ?? []).flatMap(({ row, stays }) => (stays ? [] : [`purged ${singular} ${String(row.id)} null`])),
  )
