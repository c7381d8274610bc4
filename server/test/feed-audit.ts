import { expect } from 'vitest'
import { isInFeed } from '../src/platform/records/declare/define.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { sql } from '../src/platform/model/sql.ts'
import type { Database } from '../src/platform/database/database.ts'
import { resources } from '../src/app.ts'
import type { Outcome } from './feed-program.ts'
import { numberOf } from './feed-readers.ts'
import type { Json } from './service.ts'

const prefixes = new Set(resources.filter(isInFeed).map(({ idPrefix }) => idPrefix))
const shownId = /^([a-z]{3})_[0-9a-f]{32}$/

/**
 * Each position once and without a gap, a record's revisions in their order without a gap, and no event before the
 * creation of its record and of those that it refers to. For a reader that sees everything.
 */
export function expectComplete(events: readonly Json[]): void {
  expect(events.map(({ position }) => numberOf(position))).toEqual(events.map((_, index) => index + 1))
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  const created = new Set<string>()
  const revisions = new Map<string, number>()
  for (const event of events) {
    const { kind, recordId, revision, values } = event
    if (kind === 'created') created.add(recordId)
    for (const id of [recordId, ...referencesIn(values)]) expect(created, describe(event)).toContain(id)
    if (revision === null) continue
    expect([describe(event), revision]).toEqual([describe(event), (revisions.get(recordId) ?? 0) + 1])
    revisions.set(recordId, revision)
  }
}

const describe = ({ type, position, recordId }: Json): string => `${type} of ${recordId} at ${position}`

/** The ids of records in the feed. */
const referencesIn = (values: Json): string[] =>
  Object.values(values ?? {}).filter(
    (value): value is string => typeof value === 'string' && prefixes.has(shownId.exec(value)?.[1] ?? ''),
  )

/** Each request that succeeded is in the feed once, and no request that was refused. */
export function expectOutcomes(events: readonly Json[], outcomes: readonly Outcome[]): void {
  const marked = new Map<string, Json[]>()
  for (const event of events) {
    if (event.kind === 'restored') continue
    // A contact has its name twice.
    for (const mark of new Set(JSON.stringify(event.values).match(/mark-\d+-/g)))
      marked.set(mark, [...(marked.get(mark) ?? []), event])
  }
  for (const { method, path, status, id, mark } of outcomes) {
    if (mark === undefined) continue
    // The task of an accepted suggestion has the name of its contact.
    const found = (marked.get(mark) ?? []).map(({ recordId }) => recordId).filter((one) => status >= 300 || one === id)
    expect([method, path, status, mark, found]).toEqual([method, path, status, mark, status < 300 ? [id] : []])
  }
  const deletions = countBy(events.filter(({ kind }) => kind === 'deleted').map(({ recordId }) => recordId))
  const acknowledged = outcomes.filter(({ method, id, status, path }) => isDeletion(method, path) && id && status < 300)
  for (const [id, count] of countBy(acknowledged.map(({ id }) => id ?? '')))
    expect([id, deletions.get(id)]).toEqual([id, count])
}

const isDeletion = (method: string, path: string): boolean => method === 'DELETE' && !path.endsWith('/block')

function countBy(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

/** Every stored event has a place, of which each was given once. */
export async function expectPlaced(database: Database, organizationId: string): Promise<void> {
  const [row] = await database.crossTenantQuery<Json>(
    'check the database',
    sql`select count(*)::integer as events, count("position")::integer as placed, min("position")::integer as first,
        max("position")::integer as last, count(distinct "position")::integer as positions
      from events where organization_id = ${decodeId('org', organizationId)}::uuid`,
  )
  expect(row).toEqual({ ...row, placed: row.events, first: 1, last: row.events, positions: row.events })
}
