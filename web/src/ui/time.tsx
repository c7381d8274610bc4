import { useFormatter, useNow } from 'use-intl'
import { Tip } from './tip.tsx'

/** A time relative to now; the full local date and time appear on hover and on focus. */
export function Time({ value, isFocusable = false }: { value: string; isFocusable?: boolean }) {
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  const date = new Date(value)
  // The clock of this page is read once a minute, so that a new record may seem to be of the future.
  const full = format.dateTime(date, { dateStyle: 'full', timeStyle: 'long' })
  return (
    <Tip label={full}>
      <time dateTime={value} {...(isFocusable && { tabIndex: 0 })}>
        {format.relativeTime(date, date > now ? date : now)}
      </time>
    </Tip>
  )
}
