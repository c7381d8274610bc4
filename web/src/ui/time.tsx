import { useFormatter, useLocale, useNow } from 'use-intl'
import { relativeTime, showRelativeTime } from './relative-time.ts'
import { Tip } from './tip.tsx'

/** Milliseconds. */
const clockInterval = 60_000

/** A time relative to now; the full local date and time appear on hover and on focus. */
export function Time({ value, isFocusable = false }: { value: string; isFocusable?: boolean }) {
  const format = useFormatter()
  const locale = useLocale()
  const now = useNow({ updateInterval: clockInterval })
  const date = new Date(value)
  // The clock of this page is read once a minute, so a new record may seem to be a little in the future.
  const isNew = date > now && date.getTime() - now.getTime() < clockInterval
  const full = format.dateTime(date, { dateStyle: 'full', timeStyle: 'long' })
  return (
    <Tip label={full}>
      <time dateTime={value} {...(isFocusable && { tabIndex: 0 })}>
        {showRelativeTime(relativeTime(date, isNew ? date : now), locale)}
      </time>
    </Tip>
  )
}
