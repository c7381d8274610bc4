import { useSyncExternalStore } from 'react'

/** Somebody else who has a record open. */
export interface Person {
  userId: string
  isEditing: boolean
}

/** An event `presence` of the stream. */
export interface PeopleEvent {
  /** Nobody has another record open. */
  isComplete: boolean
  records: readonly { recordId: string; people: readonly Person[] }[]
}

const nobody: readonly Person[] = []
let people = new Map<string, readonly Person[]>()
const listeners = new Set<() => void>()

export function showPeople({ isComplete, records }: PeopleEvent): void {
  if (isComplete) people = new Map()
  for (const record of records) {
    if (record.people.length > 0) people.set(record.recordId, record.people)
    else people.delete(record.recordId)
  }
  for (const listener of listeners) listener()
}

export const forgetPeople = (): void => showPeople({ isComplete: true, records: [] })

/** What all events so far have said, as one. */
export const everybody = (): PeopleEvent => ({
  isComplete: true,
  records: [...people].map(([recordId, here]) => ({ recordId, people: here })),
})

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Who else has the record open. */
export const usePeople = (recordId: string): readonly Person[] =>
  useSyncExternalStore(subscribe, () => people.get(recordId) ?? nobody)
