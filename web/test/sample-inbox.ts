import { decodeId, newId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, TestService } from '../../server/test/service.ts'

export interface SampleEntry {
  kind: string
  resource: string
  /** `con_…` */
  recordId: string
  recordCount?: number
  authorId?: string
  read?: boolean
  /** Default: now. */
  createdAt?: string
}

/** Adds entries to the inbox of the person who calls, as the service would; the first one is the newest. */
export async function addEntries(service: TestService, call: Call, entries: readonly SampleEntry[]): Promise<void> {
  const me = (await call('GET', '/v5/me')).body
  const organization = (await call('GET', '/v5/organization')).body
  const uuidOf = (id: string): string => decodeId(id.slice(0, 3), id) ?? ''
  const begun = Date.now()
  const rows = entries.map(({ authorId, recordId, recordCount = 1, read = false, createdAt, ...entry }, index) => ({
    ...entry,
    recordCount,
    id: newId(),
    read,
    recordId: uuidOf(recordId),
    authorId: authorId === undefined ? null : uuidOf(authorId),
    createdAt: createdAt ?? new Date(begun - index).toISOString(),
  }))
  await service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(sql`
      insert into inbox_entries (organization_id, id, user_id, kind, resource, record_id, record_count, author_id, key, read, created_at)
      select ${uuidOf(organization.id)}::uuid, id, ${uuidOf(me.id)}::uuid, kind, resource, "recordId", "recordCount", "authorId",
        'sample ' || id, read, "createdAt"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given(id uuid, kind text, resource text, "recordId" uuid,
        "recordCount" integer, "authorId" uuid, read boolean, "createdAt" timestamptz)`)
    await db.query(sql`
      insert into inbox_changes (organization_id, user_id) values (${uuidOf(organization.id)}::uuid, ${uuidOf(me.id)}::uuid)
      on conflict (organization_id, user_id) do update set number = inbox_changes.number + 1`)
  })
}
