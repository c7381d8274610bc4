import { expect } from 'vitest'
import { resources } from '../src/app.ts'
import { decodeId, encodeId } from '../src/platform/model/ids.ts'
import { identifier, raw, sql } from '../src/platform/model/sql.ts'
import { isInFeed, type Resource } from '../src/platform/records/declare/define.ts'
import { root } from '../src/platform/records/filter/target.ts'
import { ownFields, ownText } from '../src/platform/records/page/select.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Call, Json } from './service.ts'
import type { Database } from '../src/platform/database/database.ts'

export const followed = resources.filter(isInFeed)

/** A copy of an organization’s records that is made of its feed alone, as another program would make it. */
export class FeedCopy {
  /** By resource, the records by their id. */
  readonly records = new Map<string, Map<string, JsonObject>>()
  readonly positions: string[] = []
  position: string

  constructor(position = 'start') {
    this.position = position
  }

  /** Reads what is new. */
  async follow(call: Call, query = ''): Promise<Json[]> {
    const read: Json[] = []
    for (;;) {
      const page = await call('GET', `/v5/events?after=${this.position}&limit=1000${query}`)
      expect(page.status, page.text).toBe(200)
      for (const event of page.body.events) this.#apply(event)
      read.push(...page.body.events)
      this.position = page.body.position
      if (!page.body.hasMore) return read
    }
  }

  #apply({ resource, kind, recordId, values, position }: Json): void {
    this.positions.push(position)
    const records = this.records.get(resource) ?? new Map<string, JsonObject>()
    this.records.set(resource, records)
    if (kind === 'deleted' || kind === 'purged' || kind === 'erased') records.delete(recordId)
    else if (kind === 'created' || kind === 'restored') records.set(recordId, values ?? {})
    else {
      const known = records.get(recordId)
      // A change of a record that is not known would be a gap.
      expect(known, `${resource} ${recordId} before ${position}`).toBeDefined()
      records.set(recordId, { ...known, ...values })
    }
  }

  of({ singular }: Resource): Map<string, JsonObject> {
    return this.records.get(singular) ?? new Map()
  }
}

/** Are the copy and the database the same in every resource? Returns how many records there are. */
export async function expectSameRecords(copy: FeedCopy, database: Database, organizationId: string): Promise<number> {
  const counts = await Promise.all(
    followed.map(async (resource) => {
      const stored = await readStored(database, resource, organizationId)
      const copied = copy.of(resource)
      for (const [id, record] of stored)
        expect([resource.singular, copied.get(id)]).toEqual([resource.singular, record])
      expect([resource.singular, copied.size]).toEqual([resource.singular, stored.size])
      return stored.size
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

async function readStored(database: Database, resource: Resource, organizationId: string): Promise<Map<string, Json>> {
  const rows = await database.crossTenantQuery<{ id: string; text: string }>(
    'check the database',
    sql`select id, ${ownText(resource, 'table')} as text from ${identifier(resource.table)} ${raw(root)}
      where organization_id = ${decodeId('org', organizationId)}::uuid ${raw(resource.softDelete ? 'and deleted_at is null' : '')}`,
  )
  const names = new Set(ownFields(resource))
  return new Map(
    rows.map(({ id, text }) => {
      const entries = Object.entries(JSON.parse(text) as JsonObject).filter(([name]) => names.has(name))
      return [encodeId(resource.idPrefix, id), Object.fromEntries(entries)]
    }),
  )
}
