import { lazy } from 'react'
import type { ValueViews } from '../views/value-views.ts'

const load = () => import('../tasks/schedule-value.tsx')
const View = lazy(() => load().then(({ ScheduleValue }) => ({ default: ScheduleValue })))
const Editor = lazy(() => load().then(({ loadRecurrenceEditor }) => loadRecurrenceEditor()))

/** What lists and record pages show instead of a rule and of minutes. A rule is edited with the fields of the form of tasks. */
export const valueViews: ValueViews = { tasks: { recurrence: { View, Editor }, remindBefore: { View } } }
