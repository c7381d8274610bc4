import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { usePostOnce } from '../api/post-once.ts'
import { queryClient } from '../api/query-client.ts'
import { useMay } from '../api/permissions.ts'
import { tasksChanged } from '../tasks/use-task-actions.ts'
import { timelineKey } from '../api/timeline.ts'
import { notify } from '../ui/toast.tsx'
import { reloadLists } from '../views/use-record-window.ts'
import { suggestionsKey } from './pending-count.ts'
import { readSuggestion, showSuggestion, type Suggestion } from './suggestion-data.ts'

interface Decisions {
  mayAccept: boolean
  mayReject: boolean
  /** Accepts the suggestion with these changes. Rejects with the service's refusal. */
  accept(suggestion: Suggestion, edits: object): Promise<void>
  reject(suggestion: Suggestion): Promise<void>
}

/** The actions on a suggestion, wherever it is shown. */
export function useDecisions(): Decisions {
  const t = useTranslations('suggestions')
  const may = useMay()
  const postOnce = usePostOnce()
  const decide = async ({ id }: Suggestion, decision: 'accept' | 'reject', body: object): Promise<Suggestion> => {
    try {
      const { body: decided } = await postOnce<Suggestion>(`/v5/suggestions/${id}/${decision}`, body)
      showSuggestion(decided)
      return decided
    } catch (error) {
      if (error instanceof ApiError && (error.code === 'already_decided' || error.status === 404))
        await readSuggestion(id)
      throw error
    }
  }
  return {
    mayAccept: may('suggestion:accept:write'),
    mayReject: may('suggestion:reject:write'),
    async accept(suggestion, edits) {
      const { resultTaskId, resultDealId, type } = await decide(suggestion, 'accept', edits)
      const done =
        resultTaskId !== null ? 'task' : resultDealId !== null ? 'deal' : type === 'suppress' ? type : 'contact'
      notify(t(`done.${done}`))
      effectsChanged()
    },
    async reject(suggestion) {
      await decide(suggestion, 'reject', {})
      const isUndone = suggestion.status === 'auto_applied' && suggestion.resultContactId !== null
      notify(t(isUndone ? 'done.undone' : 'done.rejected'))
      effectsChanged()
    },
  }
}

/** Refetches everything that a decision can change. */
function effectsChanged(): void {
  for (const path of ['/v5/deals', '/v5/contacts']) reloadLists(path)
  void tasksChanged()
  for (const queryKey of [suggestionsKey, timelineKey, ['record'], ['deals-of']]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}
