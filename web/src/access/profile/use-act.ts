import { change as changeAny, useAct as useAnyAct } from '../act.ts'

/** Everything about the person who is logged in. */
const refresh = ['me'] as const

/** Changes the account: proves who the person is if needed, and fetches what is shown again. Rejects if it failed. */
export const change = <T>(action: () => Promise<T>): Promise<T> => changeAny(refresh, action)

/** Runs what a button of the account does, and says that it worked or why it failed. */
export function useAct(): (action: () => Promise<unknown>, done?: string) => Promise<void> {
  const act = useAnyAct()
  return (action, done) => act(action, { refresh, ...(done !== undefined && { done }) })
}
