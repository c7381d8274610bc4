import { sql } from '../../platform/model/sql.ts'
import type { Reach } from '../../platform/records/declare/define.ts'
import type { Computation } from '../../platform/records/declare/field.ts'

/** It is nobody's contact yet, so it is only for those who see the contacts and companies of everyone. */
export const refusedPushReach: Reach = {
  sees: ({ reach }) => (reach?.levels.contact ?? reach?.levels.company) && sql`false`,
}

/** Still encrypted, as text; `opened` decrypts it. */
export const sealedBody: Computation = (record) => sql`to_json(encode(${record}.content_sealed, 'base64'))`
