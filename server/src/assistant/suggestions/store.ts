import type { Database } from '../../platform/database/database.ts'
import { sql } from '../../platform/model/sql.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { noteAnalyses, suggestions } from './resource.ts'

export const suggestionStore = standardStore(suggestions)

export const noteAnalysisStore = standardStore(noteAnalyses)

/** Number of imports whose opt-outs wait for a person, because there were many. Deleted contacts and notes do not count. */
export async function countImportsOptingOut(database: Database): Promise<number> {
  const [row] = await database.crossTenantQuery<{ count: number }>(
    'count imports with waiting opt-outs',
    sql`select count(*)::int as count from (
      select opt_out.organization_id, opt_out.import_id from suggestions opt_out
      join contacts contact on contact.organization_id = opt_out.organization_id and contact.id = opt_out.contact_id
        and contact.deleted_at is null
      join notes note on note.organization_id = opt_out.organization_id and note.id = opt_out.note_id
        and note.deleted_at is null
      where opt_out.waiting_reason = 'many_opt_outs' and opt_out.status = 'pending' group by 1, 2) waiting`,
  )
  return row?.count ?? 0
}
