import { useSyncExternalStore } from 'react'

/** The session of this page has ended. Its requests wait until the person has logged in again. */
interface EndedSession {
  /** Did the person start the waiting request, rather than the page itself? */
  isAction: boolean
  promise: Promise<boolean>
  resolve(isSame: boolean): void
}

let ended: EndedSession | undefined
const listeners = new Set<() => void>()

/** Waits for the person to log in again; false if the page is left instead. */
export function logInAgain(isAction: boolean): Promise<boolean> {
  if (ended === undefined) show(createEnd(isAction))
  else if (isAction && !ended.isAction) show({ ...ended, isAction })
  return ended?.promise ?? Promise.resolve(false)
}

function createEnd(isAction: boolean): EndedSession {
  let resolve: EndedSession['resolve'] = () => undefined
  const promise = new Promise<boolean>((settle) => (resolve = settle))
  return { isAction, promise, resolve }
}

/** Resumes the waiting requests, or abandons them. */
export function settleEnd(isSame: boolean): void {
  const before = ended
  show(undefined)
  before?.resolve(isSame)
}

export const hasEnded = (): boolean => ended !== undefined

function show(next: EndedSession | undefined): void {
  ended = next
  for (const listener of listeners) listener()
}

/** Undefined while the session is valid. */
export const useEndedSession = (): EndedSession | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => ended,
  )
