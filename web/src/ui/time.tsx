import { useFormatter, useLocale, useNow } from 'use-intl'
import { relativeTime, showRelativeTime } from './relative-time.ts'
import { Tip } from './tip.tsx'

/** Milliseconds. */
const clockInterval = 60_000

/** A time relative to now. The full local date and time appear on hover and on focus. */
export function Time({ value, isFocusable = false }: { value: string; isFocusable?: boolean }) {
  const format = useFormatter()
  const locale = useLocale()
  const now = useNow({ updateInterval: clockInterval })
  const date = new Date(value)
  // The page's clock is updated once a minute, so a new record may appear to be slightly in the future.
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
