import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Reach } from '../../platform/records/declare/define.ts'

/** A personal view is seen by its owner only, a shared one by everyone; administrators change shared ones too. */
export const viewReach: Reach = {
  // The service itself sees every view.
  sees: ({ kind, userId }, record) =>
    kind === 'session' || kind === 'key'
      ? sql`(${record}.is_shared or ${record}.owner_id = ${userId}::uuid)`
      : undefined,
  // An API key has no role: it acts for its creator.
  mayChange: ({ userId, role }, { ownerId }) =>
    role === 'owner' || role === 'admin' || decodeId('usr', String(ownerId)) === userId,
}
