import { lazy } from 'react'
import type { ValueViews } from '../views/value-views.ts'

const load = () => import('../tasks/schedule-value.tsx')
const View = lazy(() => load().then(({ ScheduleValue }) => ({ default: ScheduleValue })))
const Editor = lazy(() => load().then(({ loadRecurrenceEditor }) => loadRecurrenceEditor()))

const Address = lazy(() => import('./address-value.tsx').then(({ AddressValue }) => ({ default: AddressValue })))

/**
 * What lists and record pages show instead of a rule, of minutes and of an address in English. A rule is edited with the
 * fields of the form of tasks.
 */
export const valueViews: ValueViews = {
  contacts: { formattedAddress: { View: Address } },
  companies: { formattedAddress: { View: Address } },
  tasks: { recurrence: { View, Editor }, remindBefore: { View } },
}
