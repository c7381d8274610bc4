import { timeZone } from '../preferences/locale.ts'
import type { Entry } from '../api/timeline.ts'

interface Day {
  /** Of the person's calendar: `2026-11-03`. */
  day: string
  entries: readonly Entry[]
}

/** The English of Canada writes days as the API does. */
const dayFormat = new Intl.DateTimeFormat('en-CA', { timeZone })

/** The entries of each day, in the order in which they come. */
export function groupByDay(entries: readonly Entry[]): readonly Day[] {
  const days = new Map<string, Entry[]>()
  for (const entry of entries) {
    const day = dayFormat.format(new Date(entry.createdAt))
    days.set(day, [...(days.get(day) ?? []), entry])
  }
  return [...days].map(([day, ofDay]) => ({ day, entries: ofDay }))
}
