import { queryClient } from '../api/query-client.ts'
import { offerUndo } from '../ui/undo.ts'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { withRecentAuthentication } from './reauthenticate.tsx'

interface ActOptions {
  /** The first part of the query keys to refetch. */
  refresh: readonly string[]
  /** The message after success. */
  done?: string
  undo?: () => void
}

/** Runs a change, asks for re-authentication if needed, and refetches. Rejects like a form's `onSubmit`. */
export async function change<T>(refresh: readonly string[], action: () => Promise<T>): Promise<T> {
  try {
    return await withRecentAuthentication(action)
  } finally {
    void queryClient.invalidateQueries({ queryKey: refresh })
  }
}

/** Runs a button's action, and shows a message that it worked or why it failed. */
export function useAct() {
  const notifyFailure = useNotifyFailure()
  return async (action: () => Promise<unknown>, { refresh, done, undo }: ActOptions): Promise<void> => {
    try {
      await change(refresh, action)
      if (done === undefined) return
      if (undo) offerUndo(done, undo)
      else notify(done)
    } catch (error) {
      notifyFailure(error)
    }
  }
}
