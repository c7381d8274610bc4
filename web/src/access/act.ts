import { queryClient } from '../api/query-client.ts'
import { offerUndo } from '../ui/undo.ts'
import { notify, useNotifyFailure } from '../ui/toast.tsx'
import { withRecentAuthentication } from './reauthenticate.tsx'

interface ActOptions {
  /** What changes: the beginning of its query keys. */
  refresh: readonly string[]
  /** What to say when it worked. */
  done?: string
  undo?: () => void
}

/** Changes something: proves who the person is if needed, and fetches it again. Rejects like a form's `onSubmit`. */
export async function change<T>(refresh: readonly string[], action: () => Promise<T>): Promise<T> {
  try {
    return await withRecentAuthentication(action)
  } finally {
    void queryClient.invalidateQueries({ queryKey: refresh })
  }
}

/** Runs what a button does, and says that it worked, or why it failed. */
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
