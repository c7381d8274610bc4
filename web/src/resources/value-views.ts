import { lazy } from 'react'
import type { ValueViews } from '../views/value-views.ts'

const scheduleValue = lazy(() =>
  import('../tasks/schedule-value.tsx').then(({ ScheduleValue }) => ({ default: ScheduleValue })),
)

/** What lists and record pages show instead of a rule and of minutes. */
export const valueViews: ValueViews = { tasks: { recurrence: scheduleValue, remindBefore: scheduleValue } }
