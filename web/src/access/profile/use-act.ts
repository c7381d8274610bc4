import { useTranslations } from 'use-intl'
import { ApiError } from '../../api/error.ts'
import { queryClient } from '../../api/query-client.ts'
import { notify, notifyError } from '../../ui/toast.tsx'
import { withRecentAuthentication } from '../reauthenticate.tsx'

/** Changes the account: proves who the person is if needed, and fetches what is shown again. Rejects if it failed. */
export async function change<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await withRecentAuthentication(action)
  } finally {
    void queryClient.invalidateQueries({ queryKey: ['me'] })
  }
}

/** Runs what a button does, and says that it worked or why it failed. */
export function useAct(): (action: () => Promise<unknown>, done?: string) => Promise<void> {
  const t = useTranslations('common')
  return async (action, done) => {
    try {
      await change(action)
      if (done !== undefined) notify(done)
    } catch (error) {
      if (error instanceof ApiError) notifyError(error.title, error.description)
      else notifyError(t('unreachable'))
    }
  }
}
