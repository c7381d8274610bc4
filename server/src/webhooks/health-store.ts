import { raw, type Sql, sql } from '../platform/model/sql.ts'
import type { Reach } from '../platform/records/declare/define.ts'
import type { Computation } from '../platform/records/declare/field.ts'

const timeText = (value: string): Sql => raw(`to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)

/** How the webhook `record` fares. */
export const healthOf: Computation = (record, organization) => sql`(
  select json_build_object('consecutiveFailures', coalesce(max(state.failures), 0),
    'failingSince', max(${timeText('state.failing_since')}), 'lastSuccessAt', max(${timeText('state.last_success_at')}))
  from webhook_states state where state.organization_id = ${organization} and state.webhook_id = ${record}.id)`

/** A webhook sends what the whole organization has: its deliveries name records that others may not see. */
export const deliveryReach: Reach = {
  sees: ({ reach }) => (reach && Object.keys(reach.levels).length > 0 ? sql`false` : undefined),
}
