import { useTranslations } from 'use-intl'
import { withRecentAuthentication } from '../access/reauthenticate.tsx'
import { ApiError } from '../api/error.ts'
import { queryClient } from '../api/query-client.ts'
import { notify, notifyError } from '../ui/toast.tsx'

interface ActOptions {
  /** The list that changes: the beginning of its query key. */
  refresh: readonly string[]
  /** What to say when it worked. */
  done?: string
  undo?: () => void
}

/** Changes something: proves who the person is if needed, and fetches the list again. Rejects like a form's `onSubmit`. */
export async function change<T>(refresh: readonly string[], action: () => Promise<T>): Promise<T> {
  try {
    return await withRecentAuthentication(action)
  } finally {
    void queryClient.invalidateQueries({ queryKey: refresh })
  }
}

/** Runs what a button does, and says that it worked, or the service's reason why not. */
export function useAct() {
  const t = useTranslations('settings')
  const common = useTranslations('common')
  return async (action: () => Promise<unknown>, { refresh, done, undo }: ActOptions): Promise<void> => {
    try {
      await change(refresh, action)
      if (done !== undefined) notify(done, undo && { undo })
    } catch (error) {
      notifyError(t('failed'), error instanceof ApiError ? reasonOf(error) : common('unreachable'))
    }
  }
}

/** The service's sentence; the details say more than the summary. */
const reasonOf = ({ description, details }: ApiError): string =>
  details.length > 0 ? details.map(({ message }) => sentence(message)).join(' ') : description

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
