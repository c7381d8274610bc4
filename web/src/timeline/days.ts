import { timeZone } from '../preferences/locale.ts'

interface Day<Entry> {
  /** A day in the person's time zone: `2026-11-03`. */
  day: string
  entries: readonly Entry[]
}

/** The Canadian English locale formats days like the API. */
const dayFormat = new Intl.DateTimeFormat('en-CA', { timeZone })

/** Groups entries by day, in their order. */
export function groupByDay<Entry extends { createdAt: string }>(entries: readonly Entry[]): readonly Day<Entry>[] {
  const days = new Map<string, Entry[]>()
  for (const entry of entries) {
    const day = dayFormat.format(new Date(entry.createdAt))
    days.set(day, [...(days.get(day) ?? []), entry])
  }
  return [...days].map(([day, ofDay]) => ({ day, entries: ofDay }))
}
