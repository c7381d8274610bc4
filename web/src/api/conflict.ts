import { useSyncExternalStore } from 'react'
import type { ApiError } from './error.ts'
import type { RecordData } from './schema.ts'

export type Choice = 'mine' | 'theirs'

/** Somebody else has changed a field while the person was editing it. */
export interface Conflict {
  resource: string
  /** The path of the record. */
  path: string
  field: string
  mine: unknown
  /** The record as it is now. */
  current: RecordData
  /** The record behind the chosen reference. */
  shown?: unknown
}

interface Question extends Conflict {
  answer(choice: Choice): void
  /** The person closes the dialog: nothing is saved. */
  decline(error: ApiError): void
}

let question: Question | undefined
let last: Promise<unknown> = Promise.resolve()
const listeners = new Set<() => void>()

/** Asks the person which value to keep, one question at a time. Rejects if they close the dialog. */
export function askAboutConflict(conflict: Conflict): Promise<Choice> {
  const ask = () =>
    new Promise<Choice>((answer, decline) => show({ ...conflict, answer, decline })).finally(() => show(undefined))
  const answered = last.then(ask, ask)
  last = answered.catch(() => undefined)
  return answered
}

function show(next: Question | undefined): void {
  question = next
  for (const listener of listeners) listener()
}

export const useConflict = (): Question | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => question,
  )
