import { useFormatter, useTranslations } from 'use-intl'

/** Minutes before the end of the due day: at 9:00 on the day, on the day before, and a week before. */
const beforeDay = [900, 2340, 10_980]
const beforeTime = [10, 30, 60, 1440, 10_080]

export const remindersBefore = (hasTime: boolean): readonly number[] => (hasTime ? beforeTime : beforeDay)

/** What comes closest when a due date gets a time, or loses it. */
export function reminderLike(minutes: number, hasTime: boolean): number {
  const [onDay = 0, dayBefore = 0, weekBefore = 0] = beforeDay
  if (hasTime) return minutes >= weekBefore ? 10_080 : minutes >= dayBefore ? 1440 : 60
  return minutes >= 10_080 ? weekBefore : minutes >= 1440 ? dayBefore : onDay
}

const units = [
  { unit: 'week', minutes: 10_080 },
  { unit: 'day', minutes: 1440 },
  { unit: 'hour', minutes: 60 },
] as const

/** `1 hour before` an instant, or `On the day, 09:00` if a whole day is due. */
export function useReminderLabel(): (minutes: number, hasTime: boolean) => string {
  const t = useTranslations('tasks')
  const format = useFormatter()
  return (minutes, hasTime) => {
    if (!hasTime) {
      const fromStart = 1440 - minutes
      const days = -Math.floor(fromStart / 1440)
      const time = new Date((fromStart + days * 1440) * 60_000)
      return t('clockBefore', { days, time: format.dateTime(time, { timeStyle: 'short', timeZone: 'UTC' }) })
    }
    const found = minutes > 0 ? units.find((one) => minutes % one.minutes === 0) : undefined
    return t('before', { unit: found?.unit ?? 'minute', count: minutes / (found?.minutes ?? 1) })
  }
}
