import type { Transaction } from '../../platform/database/database.ts'
import { onShard, prepared, sql } from '../../platform/model/sql.ts'
import { standardStore } from '../../platform/resource/store.ts'
import { noteAnalyses, suggestions } from './resource.ts'

export const suggestionStore = standardStore(suggestions)

export const noteAnalysisStore = standardStore(noteAnalyses)

/** Ends the suggestions of these notes (uuids) that nobody has decided, because their text has changed or is gone. */
export async function endOpenSuggestions(
  transaction: Transaction,
  noteIds: readonly string[],
  status: 'superseded' | 'expired',
): Promise<void> {
  await transaction.query(
    onShard(
      'suggestions',
      prepared(sql`
    update suggestions set status = ${status}, updated_at = now(), revision = revision + 1
    where organization_id = ${transaction.organization} and status = 'pending' and id = any(array(
      select id from suggestions
      where organization_id = ${transaction.organization} and note_id = any(${noteIds}::uuid[]) and status = 'pending'
      order by id for no key update)) returning id`),
    ),
  )
}
