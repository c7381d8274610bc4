import type { Database } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { sql } from '../../platform/model/sql.ts'
import type { TokenBudget } from '../analysis/model/limits.ts'

/** The daily budget of each organization in the database: all processes share it, and it survives restarts. */
export function storedTokenBudget(database: Database, tokensPerDay: number): TokenBudget {
  return {
    async reserve(organizationId, tokens) {
      if (tokens > tokensPerDay) return false
      const reserved = await database.transaction(serviceActor('analysis', organizationId), (transaction) =>
        transaction.query(sql`
          insert into reasoning_tokens as used (organization_id, day, tokens)
          values (${transaction.organization}, current_date, ${tokens})
          on conflict (organization_id) do update set day = excluded.day,
            tokens = excluded.tokens + case when used.day = excluded.day then used.tokens else 0 end
          where used.day <> excluded.day or used.tokens + excluded.tokens <= ${tokensPerDay}
          returning tokens`),
      )
      return reserved.length > 0
    },
    async correct(organizationId, { reserved, used }) {
      await database.transaction(serviceActor('analysis', organizationId), (transaction) =>
        transaction.query(sql`
          update reasoning_tokens set tokens = greatest(0, tokens + ${used - reserved}::bigint)
          where organization_id = ${transaction.organization} and day = current_date`),
      )
    },
  }
}
