import { ApiError } from '../../platform/model/errors.ts'
import { type Sql, sql } from '../../platform/model/sql.ts'
import type { Database } from '../../platform/database/database.ts'

/** An import (uuid) of an organization (uuid) on a day. */
export interface ImportDay {
  organizationId: string
  importId: string
  day: Date
}

/** Number of rows among which the bytes of an import and day are spread. */
export const slots = 16

/** The beginning of the day (UTC). */
export const dayOf = (milliseconds: number): Date => new Date(Math.floor(milliseconds / dayLength) * dayLength)

export const dayLength = 24 * 60 * 60 * 1000

/** Adds the bytes of pushes: `pushed` has the `import_id` and `bytes` of each one that was inserted. */
export const addBytesSql = (
  organization: Sql,
  { pushed, day, slot, maxBytes }: { pushed: Sql; day: Sql; slot: Sql; maxBytes: Sql },
): Sql => sql`
  insert into import_pushed_bytes as stored (organization_id, import_id, counted_on, slot, bytes, max_bytes)
  select ${organization}, pushed.import_id, ${day}, ${slot}, sum(pushed.bytes), ${maxBytes} from ${pushed} pushed
  group by pushed.import_id order by pushed.import_id
  on conflict (organization_id, import_id, counted_on, slot) do update
    set bytes = stored.bytes + excluded.bytes, max_bytes = excluded.max_bytes, changed_at = excluded.changed_at
  returning import_id`

/** The bytes that each import has received on the day. An error is that of its organization. */
export async function readPushedBytes(
  database: Pick<Database, 'crossTenantBatch'>,
  wanted: readonly ImportDay[],
): Promise<(number | ApiError)[]> {
  const organizationIds = [...new Set(wanted.map(({ organizationId }) => organizationId))]
  const results = await database.crossTenantBatch<{ importId: string; day: Date | string; bytes: number }>(
    'find the import of a push',
    organizationIds.map((organizationId) => {
      const own = wanted.filter((one) => one.organizationId === organizationId)
      return {
        organizationId,
        statement: {
          name: 'read pushed bytes',
          values: [organizationId, own.map(({ importId }) => importId), own.map(({ day }) => day)],
          build: ([organization, importIds, days]) => sql`
            select import_id as "importId", counted_on as day, sum(bytes)::float8 as bytes from import_pushed_bytes
            where organization_id = ${organization}::uuid and import_id = any(${importIds}::uuid[])
              and counted_on = any(${days}::timestamptz[]) group by 1, 2`,
        },
      }
    }),
  )
  return wanted.map(({ organizationId, importId, day }) => {
    const result = results[organizationIds.indexOf(organizationId)] ?? []
    if (result instanceof ApiError) return result
    const found = result.find((one) => one.importId === importId && new Date(one.day).getTime() === day.getTime())
    return found?.bytes ?? 0
  })
}
