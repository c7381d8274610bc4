import { change as changeAny, useAct as useAnyAct } from '../act.ts'

/** The query key of everything about the logged-in person. */
const refresh = ['me'] as const

/** Changes the account, asks for re-authentication if needed, and refetches. Rejects on failure. */
export const change = <T>(action: () => Promise<T>): Promise<T> => changeAny(refresh, action)

/** Runs a button's action on the account, and shows a message that it worked or why it failed. */
export function useAct(): (action: () => Promise<unknown>, done?: string) => Promise<void> {
  const act = useAnyAct()
  return (action, done) => act(action, { refresh, ...(done !== undefined && { done }) })
}
