import { sql } from '../platform/model/sql.ts'
import type { Reach } from '../platform/records/declare/define.ts'

/** An entry is seen by its person alone. */
export const entryReach: Reach = {
  sees: ({ kind, userId }, record) =>
    kind === 'session' ? sql`(${record}.user_id = ${userId}::uuid and ${record}.is_listed)` : undefined,
}
