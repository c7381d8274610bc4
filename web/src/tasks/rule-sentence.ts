import { useFormatter, useTranslations } from 'use-intl'
import { dayOf } from '../views/money.ts'
import { readRule, type RuleParts, weekdayCodes } from './repeat.ts'

/** How a task repeats, as a sentence: `Every 2 weeks on Monday and Thursday, until 31 Dec 2027`. */
export function useRuleSentence(): (rule: string) => string {
  const t = useTranslations('tasks.rule')
  const format = useFormatter()
  const daysOf = useDays()
  return (rule) => {
    const parts = readRule(rule)
    const days = parts && daysOf(parts)
    if (!parts || days === undefined) return t('other', { rule })
    const { frequency, interval, ends } = parts
    const text = t('every', { frequency, interval, days: days === '' ? 'none' : days })
    if (ends.kind === 'never') return text
    if (ends.kind === 'count') return t('count', { text, count: ends.count })
    return t('until', { text, day: format.dateTime(dayOf(ends.day), { dateStyle: 'medium', timeZone: 'UTC' }) })
  }
}

/** The names of weekdays, from Monday. */
export function useWeekdays(): (weekday: number, style?: 'long' | 'short') => string {
  const format = useFormatter()
  // The first of January 2024 was a Monday.
  return (weekday, style = 'long') =>
    format.dateTime(new Date(Date.UTC(2024, 0, 1 + weekday)), { weekday: style, timeZone: 'UTC' })
}

/** On which days, as the end of a sentence; empty if on all. Undefined if there are no words for it. */
export function useDays(): (parts: Omit<RuleParts, 'ends' | 'interval'>) => string | undefined {
  const t = useTranslations('tasks.rule')
  const format = useFormatter()
  const nameOf = useWeekdays()
  return ({ frequency, weekdays, monthDays, months }) => {
    const [monthDay, ...otherDays] = monthDays
    if (frequency === 'DAILY') return weekdays.length + monthDays.length + months.length === 0 ? '' : undefined
    if (frequency === 'WEEKLY' && monthDays.length + months.length === 0) return weeklyDays(weekdays)
    if (frequency === 'MONTHLY' && months.length === 0) {
      if (weekdays.length === 0) {
        if (monthDay === undefined) return ''
        return otherDays.length > 0 || monthDay < -1
          ? undefined
          : t(monthDay === -1 ? 'lastDay' : 'monthDay', { day: monthDay })
      }
      return weekdays.length === 1 && monthDays.length === 0 ? nthWeekday(weekdays[0] ?? '') : undefined
    }
    if (frequency === 'YEARLY' && weekdays.length === 0) {
      if (months.length + monthDays.length === 0) return ''
      const [month] = months
      if (months.length !== 1 || monthDays.length !== 1 || month === undefined || (monthDay ?? 0) < 1) return undefined
      // A leap year has all days.
      const day = new Date(Date.UTC(2024, month - 1, monthDay))
      return t('yearDay', { day: format.dateTime(day, { day: 'numeric', month: 'long', timeZone: 'UTC' }) })
    }
    return undefined
  }

  function weeklyDays(weekdays: readonly string[]): string {
    const days = weekdays.map(indexOf)
    if (String(days) === '0,1,2,3,4') return t('workdays')
    return days.length === 0 ? '' : t('weekdays', { days: format.list(days.map((day) => nameOf(day))) })
  }

  function nthWeekday(code: string): string | undefined {
    const [nth, day] = [code.slice(0, -2), nameOf(indexOf(code.slice(-2)))]
    return ['1', '2', '3', '4', '5', '-1'].includes(nth) ? t('nthWeekday', { nth, day }) : undefined
  }
}

const indexOf = (code: string): number => weekdayCodes.findIndex((one) => one === code)
