import { useFormatter, useNow, useTranslations } from 'use-intl'

/** `Today`, `Yesterday`, otherwise the date. */
export function DayTitle({ day }: { day: string }) {
  const t = useTranslations('timeline')
  const format = useFormatter()
  const now = useNow({ updateInterval: 60_000 })
  const date = new Date(`${day}T12:00:00`)
  const days = Math.round((new Date(now).setHours(12, 0, 0, 0) - date.getTime()) / 86_400_000)
  if (days === 0) return t('today')
  if (days === 1) return t('yesterday')
  const isThisYear = date.getFullYear() === now.getFullYear()
  return format.dateTime(date, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(!isThisYear && { year: 'numeric' }),
  })
}
