import type { RecordLimit } from '../../platform/records/declare/define.ts'
import { sql } from '../../platform/model/sql.ts'

/** At most so many records of an organization, or of a parent. `counted` is the SQL condition of those that count. */
export const recordLimit = (max: number, counted = 'deleted_at is null'): RecordLimit => ({
  max,
  counted,
  // Every organization has one, and nothing else locks it for long.
  lock: (organization) => sql`
    select id from teams where organization_id = ${organization} and is_default for no key update`,
})
